"""The library in other projects: its files copied and built by plain make, by
CMake and into a C++ program; or installed and found by pkg-config and CMake.
Each program streams from the sandbox. Also a program's unit test.

CC, CXX: the compilers; BEARSSL_DIR, JSMN_DIR: the folders of BearSSL and
jsmn.h, if they are not the system's.
SPDX-License-Identifier: 0BSD
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import threading

from e2e import (BUILD, CC, HANG_S, check, dependency_options, read_file,
                 run_program, sandbox_of, write_file)

AT_A_TIME = threading.Lock()  # only one make at a time in the folder BUILD
CXX = os.environ.get("CXX", "c++")
OPTIONS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
           "-Werror", *dependency_options()]

MAKEFILE = """
CFLAGS = -std=c99 %s
program: first.c mini_stream.c $(wildcard mst_p*.c)
	$(CC) $(CFLAGS) -o $@ $^ -lbearssl -lcrypto -pthread
""" % " ".join(OPTIONS)

CMAKE_COPIED = """
cmake_minimum_required(VERSION 3.13)
project(copied C)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
file(GLOB port mst_p*.c)
add_executable(program first.c mini_stream.c ${port})
target_compile_options(program PRIVATE %s)
target_link_libraries(program PRIVATE bearssl OpenSSL::Crypto
    Threads::Threads)
""" % " ".join(OPTIONS)

CMAKE_INSTALLED = """
cmake_minimum_required(VERSION 3.13)
project(installed C)
find_package(mini_stream 0.1 REQUIRED)
add_executable(program first.c)
target_link_libraries(program PRIVATE mini_stream::primitives
    mini_stream::posix)
"""

# Programs by name, with the pkg-config packages that each needs.
PROGRAMS = {"proxied": ("""\
#include <mst_proxy.h>

int main(void) {
    return mst_proxy_init(0, 0, 0, 0, 0, 0) != MST_ERR_ARGUMENT;
}
""", "mst_posix"), "named": ("""\
#include <mst_cares.h>

int main(void) {
    static struct mst_posix_link links[1];
    struct mst_posix posix;
    struct mst_port port;
    int rc = mst_posix_init(&posix, links, 1, &port);

    mst_cares_init(&posix);
    mst_posix_free(&posix);
    return rc;
}
""", "mst_cares"),  # next: over the port for POSIX, as in port/README.md
            "secured": ("""\
#include <mst_openssl.h>
#include <mst_posix.h>

int main(void) {
    static struct mst_openssl_link secured[1];
    static struct mst_posix_link links[1];
    struct mst_port below, port;
    struct mst_openssl openssl;
    struct mst_posix posix;

    mst_posix_init(&posix, links, 1, &below);
    if (mst_openssl_init(&openssl, NULL, &below, secured, 1, &port) != 0) {
        return 1;
    }
    mst_openssl_free(&openssl);
    mst_posix_free(&posix);
    return 0;
}
""", "mst_openssl mst_posix"),  # next: with its own jsmn, which is not static
            "tokens": ("""\
#include <jsmn.h>
#include <mini_stream.h>

int main(void) {
    struct mst_decimal price;
    jsmn_parser parser;

    jsmn_init(&parser);
    return jsmn_parse(&parser, "[95000.5]", 9, NULL, 0) != 2 ||
           mst_decimal_parse("95000.5", 7, &price) != 0;
}
""", "mini_stream")}

# examples/first.c, written in C++.
CXX_PROGRAM = r"""
#include "mini_stream.h"
#include "mst_posix.h"

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>

static mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);

int main() {
    mst_posix_anchors ca{};
    std::array<mst_posix_link, 1> links{};
    std::array<mst_level, 200> levels{};
    mst_posix posix{};
    mst_port port{};
    mst_book book{};
    mst_event event{};
    mst_config config{};
    int rc = mst_posix_anchors_load(&ca, std::getenv("MINI_STREAM_CA"));

    config.ws_url = std::getenv("MINI_STREAM_WS_URL");
    config.auth_url = std::getenv("MINI_STREAM_AUTH_URL");
    config.client_id = std::getenv("MINI_STREAM_CLIENT_ID");
    config.client_secret = std::getenv("MINI_STREAM_CLIENT_SECRET");
    config.anchors = ca.anchors;
    config.anchors_len = ca.len;
    mst_posix_init(&posix, links.data(), links.size(), &port);
    mst_book_init(&book, levels.data(), levels.size() / 2);
    rc = rc != 0 ? rc : mst_client_init(&client, &config, &port, &memory);
    rc = rc != 0 ? rc
                 : mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book);
    while (rc >= 0) {
        const mst_link *link = &client.link;
        rc = mst_poll(&client, &event);
        if (rc == 0) {
            mst_posix_wait(&posix, &link, 1, 1000);
        } else if (mst_book_depth(&book, MST_BID) > 0) {
            std::array<char, MST_DECIMAL_TEXT_LEN> price{};
            mst_decimal_format(
                mst_level_price(mst_book_level(&book, MST_BID, 0)),
                price.data());
            std::cout << price.data() << std::endl;
        }
    }
    std::cerr << mst_posix_strerror(rc) << '\n';
    return EXIT_FAILURE;
}
"""


class Project(tempfile.TemporaryDirectory):
    """An empty folder for another project."""

    def __enter__(self):
        self.path = super().__enter__()
        return self

    def take(self, *patterns):
        for pattern in patterns:
            for path in glob.glob(pattern):
                shutil.copy(path, self.path)

    def write(self, name, text):
        write_file(os.path.join(self.path, name), text)

    def run(self, *command, fails=False, **variables):
        run = run_program(*command, cwd=self.path, timeout=None,
                          env={**os.environ, **variables})
        check((run.returncode != 0) == fails,
              f"{' '.join(command)}: {run.stdout}{run.stderr}")
        return run.stderr if fails else run.stdout

    def install(self):
        """Installs the library like a package, then moves it elsewhere."""
        here = os.path.join(self.path, "packed")
        with AT_A_TIME:
            run = run_program("make", "-s", "install", f"DESTDIR={here}",
                              "PREFIX=/usr", f"BUILD={BUILD}", timeout=None)
        check(run.returncode == 0, run.stderr)
        os.rename(os.path.join(here, "usr"), os.path.join(self.path, "there"))
        os.rmdir(here)

    def check_streams(self):
        """The program prints prices, line by line even into a pipe."""
        with sandbox_of() as sandbox:
            # Ends by itself if it prints nothing.
            said = run_program("timeout", str(HANG_S), "sh", "-c",
                               "./program | head -n 3", cwd=self.path,
                               env=sandbox.environment())
        check(re.fullmatch(r"(\d+(\.\d+)?\n){3}", said.stdout),
              said.stdout + said.stderr)


COPIED = ("mini_stream.[ch]", "port/posix/*", "port/primitives/*",
          "examples/first.c")


def test_make(project):
    project.take(*COPIED)
    project.write("Makefile", MAKEFILE)
    project.run("make", "-s", f"CC={CC}")
    project.check_streams()


def test_copied_jsmn():
    """jsmn.h next to the two files or, because it fails -Wconversion, in a
    folder for system headers. It must not have been included before, perhaps
    with other options."""
    jsmn = os.path.join(BUILD, "jsmn/jsmn.h")
    with AT_A_TIME:
        subprocess.run(["make", "-s", jsmn, f"BUILD={BUILD}"], check=True)
    with Project() as project:
        project.take("mini_stream.[ch]", jsmn)
        options = [CC, "-std=c99", "-c", "mini_stream.c", "-isystem", "jsmn",
                   *(option for option in OPTIONS if option != "-Wconversion")]
        project.run(*options)
        check(" jsmn.h" in project.run(*options, "-MM"), "the copy")
        said = project.run(*options, "-include", "jsmn.h", fails=True)
        check("include jsmn.h after mini_stream.c" in said, said)
        os.mkdir(os.path.join(project.path, "jsmn"))
        project.run("mv", "jsmn.h", "jsmn")
        project.run(*options, "-Wconversion")
        check(" jsmn/jsmn.h" in project.run(*options, "-M"), "the folder's")


def test_cmake(project):
    project.take(*COPIED)
    project.write("CMakeLists.txt", CMAKE_COPIED)
    project.run("cmake", ".", CC=CC)
    project.run("cmake", "--build", ".")
    project.check_streams()


def test_c_plus_plus(project):
    project.take("mini_stream.[ch]", "port/posix/*")
    project.write("main.cc", CXX_PROGRAM)
    project.run("sh", "-c", f"{CC} -std=c99 {' '.join(OPTIONS)} -c *.c && "
                f"{CXX} -std=c++17 {' '.join(OPTIONS)} -o program main.cc "
                "*.o -lbearssl -pthread")
    project.check_streams()


def test_unit_test(project):
    """With the mock's service; without TLS, of BearSSL only the files that the
    firmware guide names. It finds planted faults: a book used after the
    connection or an update is lost, and executions that are not added up."""
    hashes = "sha1.o sha2small.o dec32be.o enc32be.o"
    project.take("mini_stream.[ch]", "port/mock/*", "examples/unit_test.c")
    text = read_file("examples/unit_test.c")
    live = "mst_book_state(&book) == MST_BOOK_LIVE"
    lost = f"({live} || mst_book_reason(&book) == MST_BOOK_RECONNECT)"
    for tls in ("-DMST_NO_TLS", "-UMST_NO_TLS"):
        cc = " ".join([CC, *OPTIONS, "-std=c99", tls,
                       "-fsanitize=address,undefined",
                       "-fno-sanitize-recover=all"])
        project.run("sh", "-c", f"{cc} -c m*.c && "
                    f"ar x $({cc} -print-file-name=libbearssl.a) {hashes}")
        libraries = hashes if tls == "-DMST_NO_TLS" else "-lbearssl"
        for good, bad, wrong in (
                (live, live, []), (live, lost, ["5"]),
                (live, lost.replace("== MST_BOOK_R", "!= MST_BOOK_R"), ["99"]),
                ("mst_decimal_add(filled, ", "(",
                 ["3", "5", "66", "99", "100"])):
            check(good in text, good)
            project.write("unit_test.c", text.replace(good, bad))
            project.run("sh", "-c", f"{cc} -o test unit_test.c m*.o "
                        f"{libraries}")
            said = run_program(os.path.join(project.path, "test"))
            found = [minute for minute, seen, expected in re.findall(
                r"^minute +(\d+): (.+); expected: (.+)$", said.stdout, re.M)
                     if seen != expected]
            check(found == wrong and said.returncode == bool(wrong),
                  f"{bad}: {said.stdout}{said.stderr}")


def test_pkg_config(project):
    project.install()
    project.take("examples/first.c")
    where = os.path.join(project.path, "there/lib/pkgconfig")
    project.run("sh", "-c", f"{CC} {' '.join(OPTIONS)} -o program first.c "
                "$(pkg-config --cflags --libs mst_primitives mst_posix)",
                PKG_CONFIG_PATH=where)
    for name, (source, needs) in PROGRAMS.items():
        project.write(name + ".c", source)
        project.run("sh", "-c", f"{CC} {' '.join(OPTIONS)} -o {name} {name}.c "
                    f"$(pkg-config --cflags --libs {needs}) && ./{name}",
                    PKG_CONFIG_PATH=where)
    version = re.search(r'MST_VERSION "(.+)"', read_file("mini_stream.h"))[1]
    for name in ("mini_stream", "mst_posix", "mst_primitives",
                 "mst_openssl", "mst_cares"):
        found = project.run("pkg-config", "--modversion", name,
                            PKG_CONFIG_PATH=where)
        check(found == version + "\n", f"{name}: {found}")
    project.check_streams()


def test_cmake_package(project):
    project.install()
    project.take("examples/first.c")
    bearssl = os.environ.get("BEARSSL_DIR", "")
    configure = ("cmake", "-DCMAKE_PREFIX_PATH=" +
                 os.path.join(project.path, "there"),
                 f"-DCMAKE_LIBRARY_PATH={bearssl}/build;{bearssl}/lib",
                 f"-DCMAKE_C_FLAGS={' '.join(dependency_options())}", ".")
    project.write("CMakeLists.txt", CMAKE_INSTALLED.replace("0.1", "9.0"))
    said = project.run(*configure, fails=True, CC=CC)
    check('requested version "9.0"' in said, said)
    project.write("CMakeLists.txt", CMAKE_INSTALLED.replace("0.1", "0.0"))
    project.run(*configure, fails=True, CC=CC)
    project.write("CMakeLists.txt", CMAKE_INSTALLED)
    project.run(*configure, CC=CC)
    project.run("cmake", "--build", ".")
    project.check_streams()
    for name in ("secured", "named"):
        source, needs = PROGRAMS[name]
        project.write(name + ".c", source)
        project.write("CMakeLists.txt", CMAKE_INSTALLED.replace(
            "program", name).replace("first.c", name + ".c").replace(
                "mini_stream::posix", needs.replace("mst_", "mini_stream::")))
        project.run(*configure, CC=CC)
        project.run("cmake", "--build", ".")
        project.run("./" + name)
