// Memory of a backend that is larger than what is ever touched.
#ifndef PAGED_TESTS_SUPPORT_SPARSE_REGION_H_
#define PAGED_TESTS_SUPPORT_SPARSE_REGION_H_

#include <cstddef>
#include <cstdint>

#include "tests/support/test_backend.h"

namespace paged::testing {

// Zeros. On the CPU addresses alone, whose pages the system maps when they are
// touched; on CUDA as much memory. The first byte is at a multiple of 4 GiB,
// so that tests can choose where in the address space a pool lies.
class SparseRegion {
 public:
  SparseRegion(BackendKind kind, std::size_t bytes);
  ~SparseRegion();
  SparseRegion(const SparseRegion&) = delete;
  SparseRegion& operator=(const SparseRegion&) = delete;

  // Null when there is not that much.
  std::byte* data() const { return data_; }
  void Write(std::size_t offset, const void* from, std::size_t bytes);
  void Read(std::size_t offset, void* to, std::size_t bytes) const;

 private:
  BackendKind kind_;
  std::size_t total_;
  void* allocation_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_SPARSE_REGION_H_
