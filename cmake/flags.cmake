# SPDX-License-Identifier: Apache-2.0
# Compiler flags: warnings, floating point, instruction sets of single files, sanitizers.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

# Assertions stay in release builds, so no NDEBUG anywhere.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(CMAKE_C_FLAGS_CHECKED "-O1 -g1") # sanitizers: half the time to compile, and traces still have functions and lines

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla -Wswitch-enum -Wformat=2 -Wdouble-promotion
    -Wimplicit-fallthrough)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND warnings -Wduplicated-cond) # not -Wlogical-op: it rejects errno == EAGAIN || errno == EWOULDBLOCK
else()
    list(APPEND warnings -Wno-string-conversion) # for assertions of the form !"why this cannot be"
endif()
if(TRIB_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND warnings -Wno-maybe-uninitialized -Wno-format-truncation) # false alarms in instrumented code
endif()
if(TRIB_WERROR)
    list(APPEND warnings -Werror)
endif()

# The same bits from every compiler and every kernel: no fused multiply-add, and NaN and infinity keep their meaning.
set(floating_point -ffp-contract=off -fno-math-errno)

add_library(trib_sanitizers INTERFACE)
if(TRIB_SANITIZE)
    target_compile_options(trib_sanitizers INTERFACE -fsanitize=${TRIB_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    target_link_options(trib_sanitizers INTERFACE -fsanitize=${TRIB_SANITIZE})
endif()
if(TRIB_SANITIZE MATCHES "undefined") # what is undefined ends the program there, with the line and no text: half the code
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        target_compile_options(trib_sanitizers INTERFACE -fsanitize-undefined-trap-on-error)
    else()
        target_compile_options(trib_sanitizers INTERFACE -fsanitize-trap=undefined)
    endif()
endif()
if(TRIB_FUZZ)
    target_compile_options(trib_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TRIB_COVERAGE) # clang's own: branches, not only lines
    target_compile_options(trib_sanitizers INTERFACE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(trib_sanitizers INTERFACE -fprofile-instr-generate)
endif()

function(trib_flags target)
    target_compile_options(${target} PRIVATE ${warnings} ${floating_point})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    # _GNU_SOURCE empty, so that a file may define it again for itself.
    target_compile_definitions(${target} PRIVATE TRIB_VERSION="${PROJECT_VERSION}" _GNU_SOURCE=)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:trib_sanitizers>)
endfunction()

# A library needs a source: stands in for a folder without any.
function(trib_some list)
    if(NOT ${list})
        file(WRITE ${CMAKE_BINARY_DIR}/none.c "extern int trib_none;\n")
        set(${list} ${CMAKE_BINARY_DIR}/none.c PARENT_SCOPE)
    endif()
endfunction()

function(trib_program name library)
    add_executable(${name} ${ARGN})
    trib_flags(${name})
    target_link_libraries(${name} PRIVATE ${library} Threads::Threads m)
endfunction()

# Of a unit or property test, for canaries as well. Most unit tests wait, and compiling them with optimisation took half
# of a build; they test the library's objects. These compute for longer than the compiler then needs.
set(computing_tests test_ghash test_host test_host_steps test_lane test_level0 test_panama_literal_search
    test_perf_values test_quorum test_sim_event test_sim_reference test_window test_worker_tag)
function(trib_test_flags target source)
    get_filename_component(name ${source} NAME_WE)
    if(source MATCHES "tests/property/" OR name IN_LIST computing_tests)
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    else()
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# A file per instruction set; which one runs is chosen at start. Elsewhere than on x86-64 these files compile to nothing,
# but for crc32c_clmul.c and ghash_clmul.c on 64-bit ARM.
function(trib_per_file_flags)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
        set_source_files_properties(src/core/crc32c_clmul.c src/core/ghash_clmul.c PROPERTIES COMPILE_OPTIONS
                                    -march=armv8-a+crc+crypto)
        return()
    elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
        return()
    endif()
    foreach(file ${ARGN})
        set(flags "")
        if(file MATCHES "_avx2\\.c$")
            set(flags -mavx2 -mf16c)
        elseif(file MATCHES "_avx512\\.c$")
            set(flags -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512)
        elseif(file MATCHES "_ifma\\.c$")
            set(flags -mavx512ifma -mavx512f -mavx512vl -mavx512dq -mprefer-vector-width=512)
        elseif(file MATCHES "_vpclmul\\.c$")
            set(flags -mvpclmulqdq -mavx512f -mavx512vl -mavx512bw -mpclmul -msse4.2)
        elseif(file MATCHES "_clmul\\.c$")
            set(flags -mpclmul -msse4.2)
        endif()
        set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}")
    endforeach()
endfunction()
