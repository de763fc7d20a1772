# find_package(proffer) gives proffer::sdk, and proffer::sdk_testing if the libraries are there that
# a simulated cluster needs (libre2-dev, libyaml-cpp-dev).

include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
find_dependency(Threads)
get_filename_component(proffer_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET proffer::sdk)
  pkg_check_modules(PROFFER_SDK REQUIRED QUIET IMPORTED_TARGET GLOBAL
                    libglog capnp libuv libzmq)
  add_library(proffer::sdk STATIC IMPORTED)
  set_target_properties(proffer::sdk PROPERTIES
    IMPORTED_LOCATION "${proffer_prefix}/lib/libproffer.a"
    INTERFACE_INCLUDE_DIRECTORIES "${proffer_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "PkgConfig::PROFFER_SDK;Threads::Threads")
endif()

if(NOT TARGET proffer::sdk_testing)
  pkg_check_modules(PROFFER_SDK_TESTING QUIET IMPORTED_TARGET GLOBAL re2 yaml-cpp)
  if(PROFFER_SDK_TESTING_FOUND)
    add_library(proffer::sdk_testing STATIC IMPORTED)
    set_target_properties(proffer::sdk_testing PROPERTIES
      IMPORTED_LOCATION "${proffer_prefix}/lib/libproffer_testing.a"
      INTERFACE_LINK_LIBRARIES "proffer::sdk;PkgConfig::PROFFER_SDK_TESTING")
  endif()
endif()
