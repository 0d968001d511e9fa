// PAGED_HD marks what the planner, the CPU kernels and the CUDA kernels share.
#ifndef PAGED_KERNELS_CORE_HOST_DEVICE_H_
#define PAGED_KERNELS_CORE_HOST_DEVICE_H_

#if defined(__CUDACC__)
#define PAGED_HD __host__ __device__
#else
#define PAGED_HD
#endif

#endif  // PAGED_KERNELS_CORE_HOST_DEVICE_H_
