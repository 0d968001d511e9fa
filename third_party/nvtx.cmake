# Finds NVTX's headers, which come with the CUDA toolkit and need no library:
# sets PAGED_NVTX_INCLUDE_DIR, empty where there are none.
find_path(PAGED_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(PAGED_NVTX_INCLUDE_DIR)
if(PAGED_NVTX AND NOT PAGED_NVTX_INCLUDE_DIR)
  message(FATAL_ERROR "PAGED_NVTX is on, and nvtx3/nvToolsExt.h was not found")
endif()
