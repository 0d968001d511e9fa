# block_table to BlockTable
function(paged_camel_case variable words)
  set(joined "")
  string(REPLACE "_" ";" words "${words}")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(TOUPPER "${first}" first)
    string(APPEND joined "${first}${rest}")
  endforeach()
  set(${variable} "${joined}" PARENT_SCOPE)
endfunction()

# paged_write_header_examples(<output.cc> <header>...)
#
# A header opens with a comment; in it, lines indented by five spaces after
# "// Example:" are code, up to the first that is neither that nor empty. Each
# header's code becomes the body of one test, with its own line numbers, so that
# an error points at the header.
function(paged_write_header_examples output)
  set(text [=[
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/build/example_checks.h"
]=])
  set(tests "")
  foreach(header IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    cmake_path(GET header STEM stem)
    file(READ ${header} content)
    if(NOT content MATCHES "^(//[^\n]*\n)*// Example:\n")
      message(FATAL_ERROR
        "${header}: a public header opens with a comment that holds a line "
        "\"// Example:\" and code indented by five spaces below it")
    endif()
    string(LENGTH "${CMAKE_MATCH_0}" begin)
    string(REGEX REPLACE "[^\n]" "" line "${CMAKE_MATCH_0}")
    string(LENGTH "${line}" line)
    math(EXPR line "${line} + 1")

    string(SUBSTRING "${content}" ${begin} -1 content)
    string(REGEX MATCH "^(//\n|//     [^\n]*\n)*" code "${content}")
    if(NOT code MATCHES "//     [^ ]")
      message(FATAL_ERROR "${header}: the example has no code")
    endif()
    string(REPLACE "\n//     " "\n  " code "\n${code}")
    string(REPLACE "\n//\n" "\n\n" code "${code}")
    string(APPEND text "#include \"paged/${stem}.h\"\n")
    paged_camel_case(name "${stem}")
    string(APPEND tests
           "\nTEST(HeaderExampleTest, ${name}RunsAsWritten) {\n#line ${line} \"${header}\"${code}}\n")
  endforeach()
  file(WRITE ${output}.new "${text}${tests}")
  file(COPY_FILE ${output}.new ${output} ONLY_IF_DIFFERENT)
endfunction()
