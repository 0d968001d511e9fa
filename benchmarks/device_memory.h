// Memory of the GPU where there is one, else of the CPU backend, for benchmarks
// that end where it cannot be had.
#ifndef PAGED_BENCHMARKS_DEVICE_MEMORY_H_
#define PAGED_BENCHMARKS_DEVICE_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/plain_copy.h"
#include "paged/backend.h"
#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"

namespace paged::benchmarks {

inline Backend& TheBackend() {
  static Backend* const backend = [] {
    absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend();
    return cuda.ok() ? cuda->release() : MakeCpuBackend().release();
  }();
  return *backend;
}

inline void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "benchmark: %s\n",
               std::string(status.message()).c_str());
  std::exit(3);
}

inline Buffer Allocate(int64_t bytes) {
  absl::StatusOr<Buffer> buffer = TheBackend().Allocate(
      static_cast<std::size_t>(bytes), MemoryKind::kDevice);
  CheckOk(buffer.status());
  return *std::move(buffer);
}

// Random numbers between -2 and 2 as fp16: all bits of what is moved count, and
// rows have scales. A few million of them, over and over.
inline Buffer AllocateRandom(int64_t bytes) {
  static const std::vector<uint16_t>& values = *[] {
    auto* made = new std::vector<uint16_t>(std::size_t{1} << 22);
    std::mt19937 random(1);
    for (uint16_t& value : *made) {
      value = static_cast<uint16_t>(random() & 0xbfffu);
    }
    return made;
  }();
  const auto chunk =
      static_cast<int64_t>(values.size() * sizeof(values.front()));
  Buffer buffer = Allocate(bytes);
  for (int64_t at = 0; at < bytes; at += chunk) {
    CheckOk(PlainCopy(
        TheBackend(), static_cast<char*>(buffer.data()) + at, values.data(),
        static_cast<std::size_t>(std::min(chunk, bytes - at)), nullptr));
  }
  CheckOk(TheBackend().Synchronize(nullptr));
  return buffer;
}

inline Buffer Upload(const std::vector<int64_t>& values) {
  const std::size_t bytes = values.size() * sizeof(int64_t);
  Buffer buffer = Allocate(static_cast<int64_t>(bytes));
  CheckOk(
      PlainCopy(TheBackend(), buffer.data(), values.data(), bytes, nullptr));
  CheckOk(TheBackend().Synchronize(nullptr));
  return buffer;
}

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_DEVICE_MEMORY_H_
