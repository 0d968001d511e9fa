// SHA-256 (FIPS 180-4), with the CPU's SHA instructions where it has them.
#ifndef PAGED_LIB_PAGED_INTERNAL_SHA256_H_
#define PAGED_LIB_PAGED_INTERNAL_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace paged::internal {

using Sha256State = std::array<uint32_t, 8>;

// Folds `num_chunks` chunks of 64 bytes into `state`.
using Sha256Compress = void (*)(Sha256State& state, const unsigned char* chunks,
                                std::size_t num_chunks);

// The round constants, section 4.2.2.
extern const std::array<uint32_t, 64> kSha256Rounds;

void CompressPortable(Sha256State& state, const unsigned char* chunks,
                      std::size_t num_chunks);

// The version for this CPU's SHA instructions; null if it has none.
Sha256Compress AcceleratedCompress();

// Follows the last `num_tail` bytes of a message of `num_bytes`, which begin
// `chunks`, with the padding of section 5.1.1. Returns how many chunks of 64
// bytes that makes.
std::size_t PadSha256(unsigned char* chunks, std::size_t num_tail,
                      uint64_t num_bytes);

// Writes the 32 bytes of the digest of a message that is padded already.
void Sha256OfPadded(const unsigned char* chunks, std::size_t num_chunks,
                    unsigned char* digest);

class Sha256 {
 public:
  Sha256();
  explicit Sha256(Sha256Compress compress);

  void Update(const void* bytes, std::size_t num_bytes);
  // Writes 32 bytes. Nothing may be called afterwards.
  void Finish(unsigned char* digest);

 private:
  Sha256Compress compress_;
  Sha256State state_;
  std::size_t num_buffered_ = 0;  // below 64
  uint64_t num_bytes_ = 0;        // in all
  std::array<unsigned char, 128> buffer_;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_SHA256_H_
