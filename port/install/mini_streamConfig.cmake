# mini_stream::mini_stream, the library; mini_stream::posix, its port for POSIX
# systems; mini_stream::primitives, which is beside a port, and
# mini_stream::openssl, a port with TLS over another one, where OpenSSL is;
# mini_stream::cares, names for the port for POSIX systems, where c-ares is.
# SPDX-License-Identifier: 0BSD
include(CMakeFindDependencyMacro)
find_dependency(Threads)

find_library(mini_stream_BEARSSL bearssl)
if(NOT mini_stream_BEARSSL)
    set(mini_stream_FOUND FALSE)
    set(mini_stream_NOT_FOUND_MESSAGE "BearSSL is missing (libbearssl-dev)")
    return()
endif()

# Where it stands is the prefix: the installed tree may be moved.
get_filename_component(mini_stream_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.."
    ABSOLUTE)
foreach(part mini_stream posix)
    if(NOT TARGET mini_stream::${part})
        add_library(mini_stream::${part} STATIC IMPORTED)
    endif()
endforeach()
set_target_properties(mini_stream::mini_stream PROPERTIES
    IMPORTED_LOCATION "${mini_stream_PREFIX}/lib/libmini_stream.a"
    INTERFACE_INCLUDE_DIRECTORIES "${mini_stream_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "${mini_stream_BEARSSL}")
set_target_properties(mini_stream::posix PROPERTIES
    IMPORTED_LOCATION "${mini_stream_PREFIX}/lib/libmst_posix.a"
    INTERFACE_LINK_LIBRARIES "mini_stream::mini_stream;Threads::Threads")

find_package(OpenSSL 3.0 QUIET)
if(OPENSSL_FOUND AND NOT TARGET mini_stream::primitives)
    add_library(mini_stream::primitives STATIC IMPORTED)
    set_target_properties(mini_stream::primitives PROPERTIES
        IMPORTED_LOCATION "${mini_stream_PREFIX}/lib/libmst_primitives.a"
        INTERFACE_LINK_LIBRARIES
        "mini_stream::mini_stream;OpenSSL::Crypto;@IPSEC_MB@")
    add_library(mini_stream::openssl STATIC IMPORTED)
    set_target_properties(mini_stream::openssl PROPERTIES
        IMPORTED_LOCATION "${mini_stream_PREFIX}/lib/libmst_openssl.a"
        INTERFACE_LINK_LIBRARIES "mini_stream::mini_stream;OpenSSL::SSL")
endif()

find_library(mini_stream_CARES cares)
if(mini_stream_CARES AND NOT TARGET mini_stream::cares)
    add_library(mini_stream::cares INTERFACE IMPORTED)
    set_target_properties(mini_stream::cares PROPERTIES
        INTERFACE_LINK_LIBRARIES "mini_stream::posix;${mini_stream_CARES}")
endif()
