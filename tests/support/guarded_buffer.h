// Memory of a backend with canaries on both sides.
#ifndef PAGED_TESTS_SUPPORT_GUARDED_BUFFER_H_
#define PAGED_TESTS_SUPPORT_GUARDED_BUFFER_H_

#include <cstddef>
#include <vector>

#include "tests/support/test_backend.h"

namespace paged::testing {

// Exactly `bytes` bytes, aligned to 256, between zones of 0xFF bytes: NaN in
// every element type, -1 as an integer. Under AddressSanitizer, touching a
// zone of host memory is an error at once.
class GuardedBuffer {
 public:
  GuardedBuffer(BackendKind kind, std::size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // Null when there are no bytes.
  void* data() const { return bytes_ == 0 ? nullptr : begin(); }
  std::size_t bytes() const { return bytes_; }

  void Upload(const std::vector<std::byte>& from);
  template <typename T>
  void UploadValues(const std::vector<T>& from) {
    const auto* begin = reinterpret_cast<const std::byte*>(from.data());
    Upload({begin, begin + from.size() * sizeof(T)});
  }
  void Fill(std::byte value);
  std::vector<std::byte> Download() const;
  bool AreCanariesIntact() const;

 private:
  std::byte* begin() const;

  BackendKind kind_;
  std::size_t bytes_;
  std::byte* allocation_;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_GUARDED_BUFFER_H_
