# How targets are made here: one library per folder, one test binary per folder.

set(PROFFER_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
# Later compilers, on other systems than Debian 12, warn of more: there a warning ends no build.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  list(APPEND PROFFER_WARNINGS -Werror)
endif()
# The presets compile sources together: most of the time is headers and what templates make of them.
# The tests of the master need 90 s of CPU in batches of eight, and 43 s and 1.6 GiB in one. What a
# .cc keeps to itself then looks as if it came from a header. -DCMAKE_UNITY_BUILD=OFF is for
# changing one line at a time.
if(NOT CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 32)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND PROFFER_WARNINGS -Wno-subobject-linkage)
endif()

function(proffer_options target)
  target_compile_options(${target} PRIVATE ${PROFFER_WARNINGS})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  if(PROFFER_FUZZ)  # clang: tells libFuzzer which branches an input took.
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
  if(PROFFER_SANITIZE STREQUAL "address")
    target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=all
                                            -fno-omit-frame-pointer -g1)
    if(NOT PROFFER_FUZZ)
      # At each access to a member: a third of the time to compile. Null pointers end a process
      # anyway, and the fuzz targets, over what reads foreign bytes, keep all checks.
      target_compile_options(${target} PUBLIC -fno-sanitize=null,alignment,object-size,vptr)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  elseif(PROFFER_SANITIZE STREQUAL "thread")
    target_compile_options(${target} PUBLIC -fsanitize=thread -g1)
    target_link_options(${target} PUBLIC -fsanitize=thread)
  endif()
endfunction()

# What every process under ThreadSanitizer knows without its environment, which tasks and executors
# do not get: what is no race of ours (tests/tsan.supp), and where reports go, a file for each
# process. A report changes no exit code: tools/tsan looks for the files.
if(PROFFER_SANITIZE STREQUAL "thread")
  file(READ ${CMAKE_SOURCE_DIR}/tests/tsan.supp suppressions)
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/tests/tsan.supp)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/tsan_defaults.cc @ONLY CONTENT [==[
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_suppressions();
const char* __tsan_default_options() {
  return "log_path=@CMAKE_BINARY_DIR@/reports/report exitcode=0 second_deadlock_stack=1";
}
const char* __tsan_default_suppressions() {
  return R"(@suppressions@)";
}
]==])
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/reports)
endif()
function(proffer_tsan_defaults target)
  if(PROFFER_SANITIZE STREQUAL "thread")
    target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/tsan_defaults.cc)
    set_source_files_properties(${CMAKE_BINARY_DIR}/tsan_defaults.cc PROPERTIES
      SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# proffer_library(<name> [PURE] [DIR <dir>] [EXCLUDE <file>…] DEPS <targets>…)
# The .cc files of the folder as the static library proffer_<name>. PURE ones are built even when
# only pure code is wanted.
function(proffer_library name)
  cmake_parse_arguments(L "PURE" "DIR" "DEPS;EXCLUDE;ONLY" ${ARGN})
  if(PROFFER_PURE_ONLY AND NOT L_PURE)
    return()
  endif()
  if(NOT L_DIR)
    set(L_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(L_ONLY)
    set(sources ${L_ONLY})
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${L_DIR}/*.cc)
    list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
    foreach(excluded ${L_EXCLUDE})
      list(FILTER sources EXCLUDE REGEX "/${excluded}$")
    endforeach()
  endif()
  if(NOT sources)  # Headers only.
    add_library(proffer_${name} INTERFACE)
    target_include_directories(proffer_${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(proffer_${name} INTERFACE ${L_DEPS})
    return()
  endif()
  add_library(proffer_${name} STATIC ${sources})
  proffer_options(proffer_${name})
  target_link_libraries(proffer_${name} PUBLIC ${L_DEPS})
endfunction()

# Programs named proffer… are what a user runs, and the examples what an author looks at: the
# target `programs` is all of them.
function(proffer_note_program name)
  if(name MATCHES "^proffer" OR CMAKE_CURRENT_SOURCE_DIR STREQUAL "${CMAKE_SOURCE_DIR}/examples")
    set_property(GLOBAL APPEND PROPERTY PROFFER_PROGRAMS ${name})
  endif()
endfunction()

# proffer_program(<program> [DIR <subdirectory of bin>] SOURCES <files>… DEPS <targets>…)
function(proffer_program name)
  cmake_parse_arguments(P "PURE" "DIR" "SOURCES;DEPS" ${ARGN})
  if(PROFFER_PURE_ONLY AND NOT P_PURE)
    return()
  endif()
  add_executable(${name} ${P_SOURCES})
  proffer_note_program(${name})
  proffer_options(${name})
  proffer_tsan_defaults(${name})
  target_link_libraries(${name} PRIVATE ${P_DEPS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${P_DIR})
endfunction()

# Programs that do little but allocate small things (docs/adr/0140). Sanitizers bring a malloc of
# their own.
function(proffer_with_tcmalloc)
  if(PROFFER_SANITIZE OR PROFFER_FUZZ)
    return()
  endif()
  foreach(program ${ARGN})
    if(TARGET ${program})
      target_link_libraries(${program} PRIVATE -Wl,--no-as-needed PkgConfig::TCMALLOC
                                               -Wl,--as-needed)
    endif()
  endforeach()
endfunction()

# proffer_program_of_objects(<program> SOURCES <files>… DEPS <targets>…)
# Compiled as the targets say, and linked with nothing yet: the targets name shared libraries.
function(proffer_program_of_objects name)
  cmake_parse_arguments(P "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name}-objects OBJECT ${P_SOURCES})
  proffer_options(${name}-objects)
  target_link_libraries(${name}-objects PRIVATE ${P_DEPS})
  add_executable(${name} $<TARGET_OBJECTS:${name}-objects>)
  proffer_note_program(${name})
endfunction()

# proffer_static_program(<program> SOURCES <files>… DEPS <targets of ours>… ARCHIVES <names>…)
# A program without shared libraries, for what is forked with each task (docs/adr/0015): DEPS are
# all libraries of ours that it is linked from, ARCHIVES those of others, as in lib<name>.a, in the
# linker's order. Sanitizers cannot be linked so: with them it is an ordinary program.
function(proffer_static_program name)
  cmake_parse_arguments(P "" "" "SOURCES;DEPS;ARCHIVES" ${ARGN})
  if(PROFFER_PURE_ONLY)
    return()
  endif()
  set(archives)
  foreach(archive ${P_ARCHIVES})
    find_library(PROFFER_ARCHIVE_${archive} NAMES lib${archive}.a)
    mark_as_advanced(PROFFER_ARCHIVE_${archive})
    list(APPEND archives ${PROFFER_ARCHIVE_${archive}})
  endforeach()
  if(PROFFER_SANITIZE OR PROFFER_FUZZ OR archives MATCHES "NOTFOUND")
    proffer_program(${name} SOURCES ${P_SOURCES} DEPS ${P_DEPS})
    return()
  endif()
  proffer_program_of_objects(${name} SOURCES ${P_SOURCES} DEPS ${P_DEPS})
  set(files)
  foreach(dep ${P_DEPS})
    add_dependencies(${name} ${dep})
    list(APPEND files $<TARGET_FILE:${dep}>)
  endforeach()
  # The linker warns of getpwuid_r, which libuv holds and nobody here calls. --no-warnings would
  # silence that, and undefined functions as well (binutils 2.40): a call of one goes to address 0.
  target_link_options(${name} PRIVATE -static-pie)
  target_link_libraries(${name} PRIVATE -Wl,--start-group ${files} -Wl,--end-group gcc_eh
                                        ${archives} Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
                                           LINK_DEPENDS "${files}")
endfunction()

# The archives that stand for a library of Debian's in a quick program, as in lib<name>.a, and the
# shared libraries, as in -l<name>, that these need.
set(PROFFER_ARCHIVES_absl::time absl_time absl_time_zone absl_civil_time absl_strings
    absl_strings_internal absl_int128 absl_base absl_throw_delegate absl_raw_logging_internal
    absl_spinlock_wait absl_log_severity)
set(PROFFER_ARCHIVES_glog::glog glog gflags -lunwind)
set(PROFFER_ARCHIVES_CapnProto::capnp capnp kj)
set(PROFFER_ARCHIVES_yaml-cpp yaml-cpp)
set(PROFFER_ARCHIVES_PkgConfig::RE2 re2)
set(PROFFER_ARCHIVES_PkgConfig::UV uv_a)
set(PROFFER_ARCHIVES_PkgConfig::ZMQ zmq pgm norm protokit sodium bsd md -lgssapi_krb5)

# All libraries that the targets are linked from: of ours into the list `ours`, others into
# `others`.
function(proffer_closure ours others)
  set(todo ${ARGN})
  set(found_ours)
  set(found_others)
  while(todo)
    list(POP_FRONT todo next)
    if(NOT next MATCHES "^proffer_" OR NOT TARGET ${next})
      list(APPEND found_others ${next})
    elseif(NOT next IN_LIST found_ours)
      list(APPEND found_ours ${next})
      get_target_property(deps ${next} INTERFACE_LINK_LIBRARIES)
      if(deps)
        list(APPEND todo ${deps})
      endif()
    endif()
  endwhile()
  list(REMOVE_DUPLICATES found_others)
  set(${ours} ${found_ours} PARENT_SCOPE)
  set(${others} ${found_others} PARENT_SCOPE)
endfunction()

# proffer_quick_program(<program> SOURCES <files>… DEPS <targets>…)
# A program that people and tasks start all the time: libraries in C++ are linked into it, for the
# loader's work on their symbols takes longer than the rest of a short command (docs/adr/0092).
# Libraries in C stay shared. Where an archive is missing, and with sanitizers, it is an ordinary
# program.
function(proffer_quick_program name)
  cmake_parse_arguments(P "" "" "SOURCES;DEPS" ${ARGN})
  if(PROFFER_PURE_ONLY)
    return()
  endif()
  proffer_closure(ours others ${P_DEPS})
  set(archives)
  foreach(other ${others})
    if(NOT DEFINED PROFFER_ARCHIVES_${other})
      list(APPEND archives ${other})
      continue()
    endif()
    foreach(archive ${PROFFER_ARCHIVES_${other}})
      if(archive MATCHES "^-l")
        list(APPEND archives ${archive})
        continue()
      endif()
      find_library(PROFFER_ARCHIVE_${archive} NAMES lib${archive}.a)
      mark_as_advanced(PROFFER_ARCHIVE_${archive})
      list(APPEND archives ${PROFFER_ARCHIVE_${archive}})
    endforeach()
  endforeach()
  if(PROFFER_SANITIZE OR PROFFER_FUZZ OR archives MATCHES "NOTFOUND")
    proffer_program(${name} SOURCES ${P_SOURCES} DEPS ${P_DEPS})
    return()
  endif()
  proffer_program_of_objects(${name} SOURCES ${P_SOURCES} DEPS ${P_DEPS})
  set(files)
  foreach(dep ${ours})
    get_target_property(type ${dep} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      add_dependencies(${name} ${dep})
      list(APPEND files $<TARGET_FILE:${dep}>)
    endif()
  endforeach()
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  target_link_libraries(${name} PRIVATE -Wl,--start-group ${files} ${archives} -Wl,--end-group)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
                                           LINK_DEPENDS "${files}")
endfunction()

# proffer_test(<folder> [PURE [SLOW]] [DIR <dir>] [EXCLUDE <file>…] DEPS <targets>…)
# The .cc files of the folder as one test binary, always compiled together and without
# optimisation: each test runs once. ./test runs PURE ones under sanitizers alone, so elsewhere
# they are not part of `all` but of `pure_tests`; SLOW ones run in both builds, with more seeds
# where they are quick.
add_custom_target(pure_tests)
function(proffer_test name)
  cmake_parse_arguments(T "PURE;SLOW" "DIR;LABEL;TIMEOUT" "DEPS;EXCLUDE" ${ARGN})
  if(PROFFER_PURE_ONLY AND NOT T_PURE)
    return()
  endif()
  if(NOT T_DIR)
    set(T_DIR ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${T_DIR}/*.cc)
  foreach(excluded ${T_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "/${excluded}$")
  endforeach()
  if(NOT sources)
    return()
  endif()
  if(NOT T_LABEL)
    set(T_LABEL unit)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  string(REPLACE "/" "_" target ${name})
  add_executable(${target}_tests ${sources})
  proffer_options(${target}_tests)
  proffer_tsan_defaults(${target}_tests)
  set_target_properties(${target}_tests PROPERTIES
    UNITY_BUILD ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # Without optimisation there is no _FORTIFY_SOURCE, and the C library warns of that.
  target_compile_options(${target}_tests PRIVATE -O0 -U_FORTIFY_SOURCE)
  target_link_libraries(${target}_tests PRIVATE ${T_DEPS} proffer_test_main)
  if(T_PURE AND NOT T_SLOW AND NOT PROFFER_PURE_ONLY)
    set_target_properties(${target}_tests PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(pure_tests ${target}_tests)
    list(APPEND T_LABEL pure)
  endif()
  add_test(NAME ${target} COMMAND ${target}_tests)
  set_tests_properties(${target} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT})
endfunction()

# proffer_test_part(<test> <part> <variable>=<value>…)
# Some cases of a test as one more test for ctest, <test>_<part>, which runs beside it. Variables of
# GoogleTest say which; <test> itself gets such that each case is in one of them.
function(proffer_test_part name part)
  if(NOT TARGET ${name}_tests)
    return()
  endif()
  # GoogleTest names a report after the program.
  set(link ${CMAKE_BINARY_DIR}/tests/${name}_${part}_tests)
  add_custom_command(TARGET ${name}_tests POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink
                     ${name}_tests ${link})
  add_test(NAME ${name}_${part} COMMAND ${link})
  get_test_property(${name} LABELS labels)
  get_test_property(${name} TIMEOUT timeout)
  set_tests_properties(${name}_${part} PROPERTIES
                       LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT "${ARGN}")
endfunction()
