# cmake -D SOURCE_DIR=<root> -D OUTPUT=<header> -P commit.cmake
#
# Writes the commit of the checkout as PAGED_COMMIT, when it has changed.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE result ERROR_QUIET)
if(NOT result EQUAL 0)
  set(commit unknown)
else()
  # Records are results of a build, and no part of it.
  execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain
    --untracked-files=no -- . ":(exclude)benchmarks/results"
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "-dirty")
  endif()
endif()
file(WRITE ${OUTPUT}.new "#define PAGED_COMMIT \"${commit}\"\n")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
