# cmake -D WAY=find_package|add_subdirectory -D ... -P consumer_test.cmake
#
# Builds a project outside the tree against paged, and runs it. The build
# folder stays, so that a second run has little to do.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(settings
  -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
if(WAY STREQUAL "find_package")
  set(prefix ${SCRATCH_DIR}/prefix)
  file(REMOVE_RECURSE ${prefix})
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
  file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/paged/*)
  if(NOT "paged/decode.h" IN_LIST headers)
    message(FATAL_ERROR "paged/decode.h was not installed: ${headers}")
  endif()
  if(headers MATCHES "internal" OR EXISTS ${prefix}/include/kernels)
    message(FATAL_ERROR "a private header was installed: ${headers}")
  endif()
  list(APPEND settings -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=${BUILD_TYPE})
else()
  # Without optimisation: it is the build that is tested here.
  list(APPEND settings -D PAGED_SOURCE_DIR=${SOURCE_DIR} -D PAGED_CUDA=OFF
       -D CMAKE_BUILD_TYPE=Debug)
  if(ABSL_SOURCE_DIR)
    list(APPEND settings -D FETCHCONTENT_SOURCE_DIR_ABSL=${ABSL_SOURCE_DIR})
  endif()
endif()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer/${WAY}
    -B ${SCRATCH_DIR}/build ${settings})
run(${CMAKE_COMMAND} --build ${SCRATCH_DIR}/build)
run(${SCRATCH_DIR}/build/consumer)
if(NOT output STREQUAL "2 3 4 5\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
