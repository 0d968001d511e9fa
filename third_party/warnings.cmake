# Warnings of our own files: link paged_warnings privately. They are errors in
# a build of paged itself, and not in that of a project that contains it.
option(PAGED_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})

add_library(paged_warnings INTERFACE)
target_compile_options(paged_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion>
  # -Wconversion would judge the host code that nvcc generates.
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(PAGED_WERROR)
  target_compile_options(paged_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Werror>)
endif()
