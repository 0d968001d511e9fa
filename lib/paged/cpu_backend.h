// The backend of machines without a GPU, and the specification of the others:
// it runs the same plans with the arithmetic of kernels/core.
//
// Example:
//
//     std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
//     CHECK(backend->profile().kind == paged::DeviceKind::kCpu);
//
//     // Threads of yours in place of the backend's own: here one that helps.
//     const paged::CpuExecutor two_threads =
//         [](int64_t count, const std::function<void(int64_t)>& body) {
//           std::thread helper([&] {
//             for (int64_t i = 1; i < count; i += 2) body(i);
//           });
//           for (int64_t i = 0; i < count; i += 2) body(i);
//           helper.join();
//         };
//     backend = paged::MakeCpuBackend(
//         {.num_threads = 2, .executor = two_threads});
//     CHECK_EQ(backend->profile().num_units, 2);
//
// The environment chooses the kernels:
//
//     PAGED_CPU   auto: vector kernels where build and processor have them
//                 float: the same, but products of floats alone, where auto
//                 takes dot products of bf16 and of integers (AVX-512)
//                 scalar: their specification, one value at a time
//
// It is read once per backend; any other value makes Prepare and Run fail with
// InvalidArgument, which names it.
#ifndef PAGED_LIB_PAGED_CPU_BACKEND_H_
#define PAGED_LIB_PAGED_CPU_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "paged/backend.h"

namespace paged {

// Runs the loops of a backend on threads of the caller's: calls body(i) once
// for every i in [0, count), in any order, on any threads, the calling one
// among them or not, and returns when all calls have returned and what they
// wrote is visible. `body` is valid until then. It may run one after another
// what it likes; no bit of a result depends on it.
//
// * `count` is at least 2: nothing is called for an empty batch, and a single
//   iteration runs on the thread that called the backend.
// * Iterations never wait, and start no loops. So an executor may be in use
//   by others, and a backend be called from one of its threads, if it lets its
//   threads start loops.
// * Threads that share a backend call the executor at the same time, where the
//   backend's own threads would serve one after another.
// * What it throws goes through Run to the caller, once no call of `body` is
//   under way; the outputs are then undefined, and the backend good for the
//   next run.
using CpuExecutor = std::function<void(
    int64_t count, const std::function<void(int64_t)>& body)>;

struct CpuOptions {
  // That plans count on; 0: one per core that the process may use, by its
  // affinity mask and the quota of its control groups (versions 1 and 2).
  int num_threads = 0;
  // Null: the backend has threads of its own, which spin for some microseconds
  // after a loop, and then sleep.
  CpuExecutor executor = nullptr;
};

// Allocate asks for huge pages from 4 MB on, and touches nothing. On a machine
// with several memory nodes a page lies at that of the thread that writes it
// first, and the backend's threads are not pinned: bind a process, with its
// pool, to each node, or spread the pages (numactl --interleave=all). Pools
// whose blocks hold the tokens of a head side by side, in blocks of 64 and
// more, are read in the longest pieces.
std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options = {});

}  // namespace paged

#endif  // PAGED_LIB_PAGED_CPU_BACKEND_H_
