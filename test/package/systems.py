"""The library in other build systems, by the files of port/install: CMake and
Meson build a program that streams from the sandbox. The manifests of ESP-IDF,
Zephyr and PlatformIO are only checked: they must be well-formed and name
existing files. The port for RTOS sockets is only compiled for Zephyr and
FreeRTOS, with stand-ins for their headers.

SPDX-License-Identifier: 0BSD
"""
import glob
import json
import os
import re
import shutil

import kconfiglib
import yaml

import vendor
from e2e import CC, check, equal, read_file
from vendor import CXX, OPTIONS

Project = vendor.Project  # the tests' parameter
ROOT = os.getcwd()
INSTALL = os.path.join(ROOT, "port/install")
SOCKETS = os.path.join(ROOT, "port/sockets")
STUBS = ("-isystem", SOCKETS + "/stubs",
         "-isystem", SOCKETS + "/stubs/freertos")

CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(theirs C)
%s
add_executable(program first.c)
target_link_libraries(program PRIVATE mini_stream::posix)
"""
SUBDIRECTORY = "add_subdirectory(vendor/mini_stream/port/install mini_stream)"
FETCHED = """
include(FetchContent)
FetchContent_Declare(mini_stream GIT_REPOSITORY none SOURCE_SUBDIR port/install)
FetchContent_MakeAvailable(mini_stream)
"""
MESON = """
project('theirs', 'c')
executable('program', 'first.c', dependencies: dependency('mst_posix',
    fallback: ['mini_stream', 'mst_posix_dep']))
"""
WRAP = """
[wrap-git]
url = %s/theirs
revision = main
patch_directory = mini_stream
"""
# Stand-ins for commands of ESP-IDF and Zephyr: their paths must exist.
CHECKED = r"""
function(check)
    foreach(path ${ARGN})
        get_filename_component(full "${path}" ABSOLUTE
            BASE_DIR "${CMAKE_CURRENT_LIST_DIR}")
        if(NOT EXISTS "${full}")
            message(FATAL_ERROR "${full} is not there")
        endif()
        message("found ${full}")
    endforeach()
endfunction()
function(idf_component_register)
    cmake_parse_arguments(given "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
    check(${given_SRCS} ${given_INCLUDE_DIRS})
endfunction()
function(zephyr_include_directories)
    check(${ARGN})
endfunction()
function(zephyr_library_sources)
    check(${ARGN})
endfunction()
foreach(name zephyr_compile_definitions zephyr_compile_definitions_ifdef
        zephyr_library target_compile_definitions)
    cmake_language(EVAL CODE "function(${name})\nendfunction()")
endforeach()
set(CONFIG_MINI_STREAM y)
include(%s)
"""


def read(*path):
    return read_file(os.path.join(*path))


VERSION = re.search(r'MST_VERSION "(.+)"', read("mini_stream.h"))[1]


def link_to_vendor(project):
    os.mkdir(os.path.join(project.path, "vendor"))
    os.symlink(ROOT, os.path.join(project.path, "vendor/mini_stream"))


def test_cmake_subdirectory(project):
    link_to_vendor(project)
    project.take("examples/first.c")
    project.write("CMakeLists.txt", CMAKE % SUBDIRECTORY)
    project.run("cmake", f"-DCMAKE_C_FLAGS={' '.join(OPTIONS)}",
                "-DMINI_STREAM_DEFINITIONS=MST_SUBSCRIPTIONS_MAX=2", ".", CC=CC)
    project.run("cmake", "--build", ".")
    project.check_streams()
    check("mst_mock" not in project.run("sh", "-c", "find . -name '*.o'"),
          "what nobody uses is built")
    project.run("cmake", "--build", ".", "--target", *(
        f"mst_{port}" for port in ("proxy", "openssl", "mbedtls", "primitives",
                                   "cares", "sockets", "flash", "mock",
                                   "conform")))


def test_cmake_fetch_content(project):
    project.take("examples/first.c")
    project.write("CMakeLists.txt", CMAKE % FETCHED)
    project.run("cmake", f"-DCMAKE_C_FLAGS={' '.join(OPTIONS)}",
                f"-DFETCHCONTENT_SOURCE_DIR_MINI_STREAM={ROOT}", ".", CC=CC)
    project.run("cmake", "--build", ".")
    project.check_streams()


def test_meson_subproject(project):
    project.take("examples/first.c")
    theirs = os.path.join(project.path, "theirs")  # a repository made here
    shutil.copytree("port", os.path.join(theirs, "port"))
    for name in ("mini_stream.c", "mini_stream.h"):
        shutil.copy(name, theirs)
    project.run("sh", "-ec", "cd theirs; git init -qb main; git add .; git -c "
                "user.name=x -c user.email=x@localhost commit -qm x")
    files = os.path.join(project.path, "subprojects/packagefiles/mini_stream")
    os.makedirs(files)
    shutil.copy("port/install/meson.build", files)
    project.write("subprojects/mini_stream.wrap", WRAP % project.path)
    project.write("meson.build", MESON)
    options = " ".join(OPTIONS)
    said = project.run("meson", "setup", "out", CC=CC, CFLAGS=options,
                       LDFLAGS=options)
    check(re.search(rf"mini_stream\| Project version: {VERSION}\n", said), said)
    project.run("ninja", "-C", "out")
    shutil.move(os.path.join(project.path, "out/program"), project.path)
    project.check_streams()


def paths_of_cmake(project, name):
    """The paths in a file with commands that this machine does not have."""
    project.write("check.cmake", CHECKED % os.path.join(INSTALL, name))
    said = project.run("sh", "-c", "cmake -P check.cmake 2>&1")
    return {os.path.relpath(path, ROOT)
            for path in re.findall("found (.*)", said)}


def test_esp_idf_component(project):
    component = "esp-idf/mini_stream"
    equal(paths_of_cmake(project, component + "/CMakeLists.txt"),
          {"mini_stream.c", "port/sockets/mst_sockets.c", ".", "port/sockets"})
    manifest = yaml.safe_load(read(INSTALL, component, "idf_component.yml"))
    equal(manifest["version"], VERSION)
    check("jsmn" in str(manifest["dependencies"]), manifest)


def test_zephyr_module(project):
    module = yaml.safe_load(read(INSTALL, "zephyr/module.yml"))
    folder = module["build"]["cmake"]
    equal(paths_of_cmake(project, folder + "/CMakeLists.txt"),
          {"mini_stream.c", "port/sockets/mst_sockets.c", ".", "port/sockets"})
    kconfig = kconfiglib.Kconfig(
        os.path.join(INSTALL, module["build"]["kconfig"]), warn=False)
    names = {name for name in kconfig.syms if name.startswith("MINI_STREAM")}
    used = re.findall(r"CONFIG_(MINI_STREAM\w*)",
                      read(INSTALL, folder, "CMakeLists.txt"))
    equal(names, set(used))
    limit = re.search(r"SUBSCRIPTIONS_MAX (\d+)", read("mini_stream.h"))[1]
    check(f"default {limit}\n" in str(
        kconfig.syms["MINI_STREAM_SUBSCRIPTIONS_MAX"]), "default")


def test_platformio_library():
    library = json.loads(read(INSTALL, "library.json"))
    equal(library["version"], VERSION)
    sources = [re.fullmatch(r"\+<(.*)>", one)[1]
               for one in library["build"]["srcFilter"]]
    for path in (library["headers"], library["build"]["srcDir"],
                 library["build"]["includeDir"], *sources,
                 *library["export"]["include"]):
        check(glob.glob(os.path.join(ROOT, path)), f"{path} is not there")


def compile_for(project, platform, *options):
    """Compiles the port for a platform, and a C++ program that includes it.
    Returns the port's undefined symbols."""
    options = [*OPTIONS, *options, f"-I{ROOT}", f"-I{SOCKETS}", *STUBS,
               f'-DMST_SOCKETS_PLATFORM="mst_sockets_{platform}.h"']
    project.write("main.cc", '#include "mst_sockets.h"\n')
    project.run(CXX, "-std=c++11", *options, "-fsyntax-only", "main.cc")
    project.run(CC, "-std=c99", *options, "-c", "-o", "sockets.o",
                os.path.join(SOCKETS, "mst_sockets.c"))
    return set(project.run("nm", "-u", "sockets.o").split()) - {"U"}


OURS = {"mst_link_ended", "mst_link_number", "mst_next_deadline_ms",
        "mst_wants", "memcpy", "memset", "__errno_location"}


def test_sockets_compile_for_zephyr(project):
    needs = compile_for(project, "zephyr", "-D_POSIX_C_SOURCE=200809L")
    other = {name for name in needs - OURS
             if not name.startswith(("k_", "zsock_", "sys_csrand_"))}
    equal(other, {"clock_gettime"})


def test_sockets_compile_for_freertos(project):
    needs = compile_for(project, "freertos")
    other = {name for name in needs - OURS if not re.match(
        "lwip_|vTask|xTask|[vx]Semaphore", name)}
    equal(other, {"mst_sockets_unix", "mst_sockets_entropy"})
    said = project.run(
        CC, "-fsyntax-only", "-DLWIP_NETIF_LOOPBACK=0", f"-I{ROOT}",
        *STUBS, '-DMST_SOCKETS_PLATFORM="mst_sockets_freertos.h"',
        os.path.join(SOCKETS, "mst_sockets.c"), fails=True)
    check("Set LWIP_NETIF_LOOPBACK to 1" in said, said)
