# The public headers, those that CMake made too, and all that they include, as they are installed.
# In the sources a header is "sdk/x.h"; once installed it is "proffer/sdk/x.h", so that nothing of
# an author's can be mistaken for it.
#   stage_headers(SOURCE GENERATED STAGE)    writes them below STAGE/include/proffer
#   install_headers(SOURCE GENERATED STAGE)  by `cmake --install`: and installs them, and examples
# As a script it stages them: cmake -DSOURCE=… -DGENERATED=… -DSTAGE=… -P install_headers.cmake

cmake_policy(VERSION 3.25)
set(headers_of_ours "#include \"((sdk|proto|common)/[^\"]+)\"")

function(stage_headers source generated stage)
  file(REMOVE_RECURSE ${stage})
  file(GLOB waiting RELATIVE ${source} ${source}/sdk/*.h)
  list(APPEND waiting sdk/version.h)
  foreach(name sim_cluster matchers drive)
    list(APPEND waiting sdk/testing/${name}.h)
  endforeach()
  set(seen)
  while(waiting)
    list(POP_FRONT waiting header)
    if(header IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${header})
    if(EXISTS ${generated}/${header})
      file(READ ${generated}/${header} text)
    else()
      file(READ ${source}/${header} text)
    endif()
    string(REGEX MATCHALL "${headers_of_ours}" includes "${text}")
    foreach(include ${includes})
      string(REGEX REPLACE "${headers_of_ours}" "\\1" include "${include}")
      list(APPEND waiting ${include})
    endforeach()
    string(REGEX REPLACE "${headers_of_ours}" "#include \"proffer/\\1\"" text "${text}")
    file(WRITE ${stage}/include/proffer/${header} "${text}")
  endwhile()
endfunction()

function(install_headers source generated stage)
  stage_headers(${source} ${generated} ${stage})
  file(GLOB examples RELATIVE ${source} ${source}/examples/*.h ${source}/examples/*/*.h
       ${source}/examples/*/*.cc)
  foreach(example ${examples})
    file(READ ${source}/${example} text)
    string(REGEX REPLACE "${headers_of_ours}" "#include \"proffer/\\1\"" text "${text}")
    file(WRITE ${stage}/${example} "${text}")
  endforeach()
  file(INSTALL ${stage}/include/proffer DESTINATION "${CMAKE_INSTALL_PREFIX}/include")
  file(INSTALL ${stage}/examples DESTINATION "${CMAKE_INSTALL_PREFIX}/share/doc/proffer-dev")
endfunction()

if(DEFINED STAGE)
  stage_headers(${SOURCE} ${GENERATED} ${STAGE})
endif()
