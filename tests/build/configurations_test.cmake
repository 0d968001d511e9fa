# cmake -D SOURCE_DIR=... -D SCRATCH_DIR=... -P configurations_test.cmake
#
# Configures paged with and without its apps, tests and benchmarks, and looks
# for the test programs that each choice has. Nothing is compiled.
cmake_minimum_required(VERSION 3.25)

# Fails unless the targets of the last configuration have `target` where
# `is_wanted` says so, and only there.
function(expect_target target is_wanted)
  set(has OFF)
  if(targets MATCHES "(^|[^a-z_])${target}([^a-z_]|$)")
    set(has ON)
  endif()
  if((has AND NOT is_wanted) OR (is_wanted AND NOT has))
    message(FATAL_ERROR "${choice}: has ${target}: ${has}")
  endif()
endfunction()

function(expect_configured apps tests benchmarks)
  set(choice "apps ${apps}, tests ${tests}, benchmarks ${benchmarks}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${SCRATCH_DIR} -G ${GENERATOR}
      -D CMAKE_CXX_COMPILER=${CXX_COMPILER} ${settings}
      -D PAGED_CUDA=OFF -D PAGED_BUILD_APPS=${apps} -D PAGED_BUILD_TESTS=${tests}
      -D PAGED_BUILD_BENCHMARKS=${benchmarks}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${choice}: not configured:\n${output}")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH_DIR} --target help
                  OUTPUT_VARIABLE targets)
  expect_target(lib_test ${tests})
  foreach(part apps benchmarks)
    set(is_wanted OFF)
    if(tests AND ${part})
      set(is_wanted ON)
    endif()
    expect_target(${part}_test ${is_wanted})
  endforeach()
endfunction()

string(REPLACE ":" "\\;" settings "${SETTINGS}")
string(REPLACE "|" ";" settings "${settings}")
file(REMOVE_RECURSE ${SCRATCH_DIR})
foreach(apps ON OFF)
  foreach(tests ON OFF)
    foreach(benchmarks ON OFF)
      expect_configured(${apps} ${tests} ${benchmarks})
    endforeach()
  endforeach()
endforeach()
