# What `cmake --install` puts where, and the Debian packages that CPack makes of it (docs/adr/0031).
#   cmake --build build --target installable && cmake --install build --prefix /opt/proffer
#   cmake --build build --target debs        # build/packages/*.deb
# Three components: runtime (proffer), dev (proffer-dev) and doc (proffer-doc); a fourth, dbgsym
# (proffer-dbgsym), of a build with PROFFER_DEBUG_SYMBOLS.

if(PROFFER_PURE_ONLY OR PROFFER_SANITIZE OR PROFFER_FUZZ)
  return()
endif()

set(packaging ${CMAKE_SOURCE_DIR}/packaging)
set(made ${CMAKE_BINARY_DIR}/packaging)  # what is made while building
set(scripts ${CMAKE_BINARY_DIR}/packaging-scripts)  # what is made while configuring

# --- runtime -------------------------------------------------------------------------------------

# All programs lie in one folder, where they find each other; `proffer` has a link in bin.
set(installed_programs proffer proffer-master proffer-agent proffer-executor proffer-fetch
                       proffer-batch proffer-batch-executor proffer-service proffer-simulate
                       proffer-sim proffer-doctor proffer-registry proffer-replay proffer-ui
                       proffer-zookeeper)
install(TARGETS ${installed_programs} RUNTIME DESTINATION lib/proffer COMPONENT runtime)
# For packaging/sbom.py.
list(JOIN installed_programs "\n" words)
file(WRITE ${scripts}/programs "${words}\n")

# Files of defaults, man pages and completion are what the programs' --help says.
add_custom_command(OUTPUT ${made}/stamp
  COMMAND ${packaging}/from_help.sh $<TARGET_FILE_DIR:proffer> ${made} ${PROJECT_VERSION}
  COMMAND ${CMAKE_COMMAND} -E touch ${made}/stamp
  DEPENDS ${packaging}/from_help.sh ${packaging}/man_page.awk ${packaging}/flags_file.awk
          ${packaging}/completion/bash ${packaging}/completion/zsh ${packaging}/completion/fish
          ${packaging}/completion/names.txt ${packaging}/completion/options.awk
          ${packaging}/completion/functions.awk
          ${installed_programs}
  VERBATIM)
add_custom_target(from_help DEPENDS ${made}/stamp)
install(DIRECTORY ${made}/man DESTINATION share COMPONENT runtime)
install(FILES ${made}/completions/proffer.bash DESTINATION share/bash-completion/completions
        RENAME proffer COMPONENT runtime)
install(FILES ${made}/completions/proffer.zsh DESTINATION share/zsh/vendor-completions
        RENAME _proffer COMPONENT runtime)
install(FILES ${made}/completions/proffer.fish DESTINATION share/fish/vendor_completions.d
        COMPONENT runtime)
install(FILES frameworks/batch/shell/job.schema.json DESTINATION share/proffer COMPONENT runtime)
install(DIRECTORY packaging/prometheus DESTINATION share/proffer COMPONENT runtime)
install(DIRECTORY examples/wordcount examples/pipeline examples/scenarios
        DESTINATION share/doc/proffer/examples COMPONENT runtime)
# Some are run where they are.
install(DIRECTORY examples/batch examples/service DESTINATION share/doc/proffer/examples
        COMPONENT runtime USE_SOURCE_PERMISSIONS)

# Settings and units name the places where they are installed, which `cmake --install --prefix` may
# change: they are written then.
configure_file(${packaging}/install_system.cmake.in ${scripts}/install_system.cmake @ONLY)
install(SCRIPT ${scripts}/install_system.cmake COMPONENT runtime)

if(PROFFER_DEBUG_SYMBOLS)
  list(JOIN installed_programs " " words)
  install(CODE "execute_process(COMMAND ${packaging}/debug_symbols.sh ${CMAKE_BINARY_DIR}/bin
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug ${words}
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT dbgsym EXCLUDE_FROM_ALL)
endif()

# --- dev -----------------------------------------------------------------------------------------

# bundle(<target> <name> LIBRARIES…): one archive lib<name>.a of the objects of several libraries.
function(bundle target name)
  set(objects)
  foreach(library ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  # Of net/, what only daemons use stays out, and so do the libraries that it needs.
  add_library(${target} STATIC
    "$<FILTER:${objects},EXCLUDE,/net/.*/(accept_guard|router|http[^/]*)[.]cc[.]o$>")
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${name}
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  install(TARGETS ${target} ARCHIVE DESTINATION lib COMPONENT dev)
endfunction()
bundle(sdk_archive proffer proffer_sdk proffer_sdk_store proffer_sdk_shell proffer_sdk_core
       proffer_codec proffer_wire
       proffer_json proffer_messages proffer_net proffer_net_local proffer_common)
bundle(sdk_testing_archive proffer_testing proffer_sdk_testing proffer_sim proffer_scenario
       proffer_master_core proffer_master_recording proffer_master_forecast proffer_slave_core
       proffer_batch_core proffer_service_core
       proffer_allocator proffer_constraint_matcher proffer_store proffer_yaml)

# The public headers and what they include, as <proffer/sdk/scheduler.h>; examples include them so.
install(SCRIPT ${packaging}/install_headers.cmake COMPONENT dev)
install(CODE "install_headers(\"${CMAKE_SOURCE_DIR}\" \"${CMAKE_BINARY_DIR}/generated\"
                              \"${CMAKE_BINARY_DIR}/packaging-include\")" COMPONENT dev)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${scripts}/proffer-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${packaging}/proffer-config.cmake ${scripts}/proffer-config-version.cmake
        DESTINATION lib/cmake/proffer COMPONENT dev)
configure_file(${packaging}/proffer.pc.in ${scripts}/proffer.pc @ONLY)
install(FILES ${scripts}/proffer.pc DESTINATION lib/pkgconfig COMPONENT dev)

# --- doc -----------------------------------------------------------------------------------------

install(FILES README.md CONTRIBUTING.md DESTINATION share/doc/proffer-doc COMPONENT doc)
install(DIRECTORY docs DESTINATION share/doc/proffer-doc COMPONENT doc)

# The reference: pages of HTML made of the public headers as they are installed. Without Doxygen
# there is none.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS sdk/*.h common/*.h proto/*.h)
  configure_file(${packaging}/reference/Doxyfile.in ${scripts}/Doxyfile @ONLY)
  add_custom_command(OUTPUT ${made}/reference/stamp
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DGENERATED=${CMAKE_BINARY_DIR}/generated
            -DSTAGE=${made}/reference -P ${packaging}/install_headers.cmake
    COMMAND ${DOXYGEN} ${scripts}/Doxyfile
    COMMAND ${CMAKE_COMMAND} -E touch ${made}/reference/stamp
    DEPENDS ${public_headers} ${scripts}/Doxyfile ${packaging}/install_headers.cmake
            ${packaging}/reference/comments.awk ${packaging}/reference/mainpage.md
    VERBATIM)
  add_custom_target(reference DEPENDS ${made}/reference/stamp)
  install(DIRECTORY ${made}/reference/html/ DESTINATION share/doc/proffer-doc/reference
          COMPONENT doc)
else()
  message(STATUS "no doxygen: no reference of the public headers")
endif()

# The manual: one site of all documents, with search. Without MkDocs there is none.
find_program(MKDOCS mkdocs)
if(MKDOCS)
  file(GLOB documents CONFIGURE_DEPENDS *.md bench/*.md bench/*.svg)
  file(GLOB_RECURSE more_documents CONFIGURE_DEPENDS docs/* examples/*.md)
  add_custom_command(OUTPUT ${made}/manual/stamp
    COMMAND ${packaging}/manual/stage.py ${CMAKE_SOURCE_DIR} ${made}/manual ${PROJECT_VERSION}
    COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=0
            ${MKDOCS} build --quiet --strict --config-file ${made}/manual/mkdocs.yml
    # A sitemap is for sites at a fixed address, and has times of the build.
    COMMAND ${CMAKE_COMMAND} -E rm -f ${made}/manual/html/sitemap.xml
            ${made}/manual/html/sitemap.xml.gz
    COMMAND ${CMAKE_COMMAND} -E touch ${made}/manual/stamp
    DEPENDS ${documents} ${more_documents} ${packaging}/manual/stage.py
    VERBATIM)
  add_custom_target(manual ALL DEPENDS ${made}/manual/stamp)
  install(DIRECTORY ${made}/manual/html/ DESTINATION share/doc/proffer-doc/manual COMPONENT doc)
else()
  message(STATUS "no mkdocs: no manual as a site")
endif()

# --- all -----------------------------------------------------------------------------------------

set(packages proffer proffer-dev proffer-doc)
set(components runtime dev doc)
if(PROFFER_DEBUG_SYMBOLS)
  list(APPEND packages proffer-dbgsym)
  list(APPEND components dbgsym)
endif()
configure_file(${packaging}/debian/changelog.in ${scripts}/changelog @ONLY)
execute_process(COMMAND gzip -9nc ${scripts}/changelog OUTPUT_FILE ${scripts}/changelog.gz
                COMMAND_ERROR_IS_FATAL ANY)
foreach(package component IN ZIP_LISTS packages components)
  # `cmake --install` without a component leaves the programs as they are, symbols among it.
  set(excluded)
  if(component STREQUAL dbgsym)
    set(excluded EXCLUDE_FROM_ALL)
  endif()
  install(FILES ${packaging}/debian/copyright DESTINATION share/doc/${package}
          COMPONENT ${component} ${excluded})
  install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${scripts}/changelog.gz
          DESTINATION share/doc/${package} COMPONENT ${component} ${excluded})
  if(EXISTS ${packaging}/debian/${package}.lintian-overrides)
    install(FILES ${packaging}/debian/${package}.lintian-overrides
            DESTINATION share/lintian/overrides RENAME ${package} COMPONENT ${component})
  endif()
endforeach()

# What `cmake --install` needs, and no tests.
get_property(programs GLOBAL PROPERTY PROFFER_PROGRAMS)
add_custom_target(installable DEPENDS ${programs} from_help sdk_archive sdk_testing_archive)
if(TARGET reference)
  add_dependencies(installable reference)
endif()
if(TARGET manual)
  add_dependencies(installable manual)
endif()
add_custom_target(debs
  COMMAND ${packaging}/pack.sh ${CMAKE_CPACK_COMMAND} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
  DEPENDS installable WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME proffer)
set(CPACK_PACKAGE_VENDOR "Proffer")
set(CPACK_PACKAGE_CONTACT "Proffer maintainers <maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/before_packing.cmake)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Files outside the prefix, as those in /etc, are installed by DESTDIR.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME proffer)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "one cluster shared by many schedulers
A master computes fair shares and offers resources to the schedulers of
frameworks, which run tasks on agents. This package has the master, the
agent, the schedulers of batch and service, and the command proffer.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "passwd, tzdata")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "proffer-doc")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/conffiles ${packaging}/debian/postinst ${packaging}/debian/prerm
    ${packaging}/debian/postrm)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME proffer-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION "library for frameworks of a Proffer cluster
Headers, static libraries, a CMake package and a pkg-config file for those
who write schedulers and executors.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libgoogle-glog-dev, libcapnp-dev, libuv1-dev, libzmq3-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "proffer")
# For tests against a simulated cluster: the target proffer::sdk_testing.
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libre2-dev, libyaml-cpp-dev, libgmock-dev, proffer-doc")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME proffer-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOC_DESCRIPTION "documentation of Proffer
Guides, concepts, the architecture and its decisions, as text in Markdown and
as a site with search, and the reference of the public headers, as pages of
HTML.")

set(CPACK_DEBIAN_DBGSYM_PACKAGE_NAME proffer-dbgsym)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_DEPENDS "proffer (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DBGSYM_DESCRIPTION "debug symbols of proffer
Names of functions and lines, for backtraces of the programs in the package
proffer by gdb, perf and others.")
include(CPack)
