# SPDX-License-Identifier: Apache-2.0
# What libtributary is made of, by folder: for the product (CMakeLists.txt) and for the copy of it that canaries are put into
# (tests/canary/CMakeLists.txt), so that a new file is in both. No flags, and not the daemon, the simulator or the program.

# What contains no call of the system: core, protocol and schemes.
function(trib_pure_sources out)
    file(GLOB sources CONFIGURE_DEPENDS src/core/*.c src/protocol/*.c src/schemes/*.c src/schemes/*/*.c)
    set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# Rules as papers publish them, beside the library: for the simulator, `tributary demo --literal` and the tests.
function(trib_published_sources out)
    file(GLOB sources CONFIGURE_DEPENDS src/published/*.c src/published/*/*.c)
    set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# All of the library. Of the switch everything but what makes a daemon of it; HTTP is the daemon's as well (http.cmake).
# Of src/keys one half (keys.cmake).
include(${CMAKE_CURRENT_LIST_DIR}/keys.cmake)
function(trib_library_sources out)
    trib_pure_sources(pure)
    file(GLOB sources CONFIGURE_DEPENDS src/io/*.c src/net/*.c src/fabric/*.c src/host/*.c src/control/*/*.c src/comm/*.c src/switchd/*.c)
    list(FILTER sources EXCLUDE REGEX "/(control/server/(http|http_none)|switchd/switchd)\\.c$")
    set(${out} ${pure} ${sources} ${keys_sources} PARENT_SCOPE)
endfunction()
