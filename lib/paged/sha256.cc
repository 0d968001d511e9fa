#include "paged/internal/sha256.h"

#include <bit>
#include <cstring>

namespace paged::internal {

constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
alignas(64) constinit const std::array<uint32_t, 64> kSha256Rounds = kRounds;

namespace {

// Section 5.3.3.
constexpr Sha256State kInitialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                       0xa54ff53a, 0x510e527f, 0x9b05688c,
                                       0x1f83d9ab, 0x5be0cd19};

uint32_t LoadBigEndian(const unsigned char* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 |
         static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | static_cast<uint32_t>(bytes[3]);
}

void StoreBigEndian(const Sha256State& state, unsigned char* bytes) {
  for (std::size_t i = 0; i < 8; ++i) {
    const uint32_t word = std::endian::native == std::endian::little
                              ? __builtin_bswap32(state[i])
                              : state[i];
    std::memcpy(bytes + 4 * i, &word, 4);
  }
}

void CompressChunk(Sha256State& state, const unsigned char* chunk) {
  std::array<uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = LoadBigEndian(chunk + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const uint32_t near =
        std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    const uint32_t far =
        std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    w[t] = near + w[t - 7] + far + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t t1 = h + choice + kSha256Rounds[t] + w[t] +
                        (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25));
    const uint32_t t2 =
        majority + (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const Sha256State sum = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += sum[i];
}

Sha256Compress BestCompress() {
  static const Sha256Compress best = AcceleratedCompress() != nullptr
                                         ? AcceleratedCompress()
                                         : &CompressPortable;
  return best;
}

}  // namespace

void CompressPortable(Sha256State& state, const unsigned char* chunks,
                      std::size_t num_chunks) {
  for (std::size_t i = 0; i < num_chunks; ++i) {
    CompressChunk(state, chunks + 64 * i);
  }
}

Sha256::Sha256() : Sha256(BestCompress()) {}

Sha256::Sha256(Sha256Compress compress)
    : compress_(compress), state_(kInitialState) {}

void Sha256::Update(const void* bytes, std::size_t num_bytes) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  num_bytes_ += num_bytes;
  if (num_buffered_ + num_bytes >= 64) {
    if (num_buffered_ > 0) {
      const std::size_t fill = 64 - num_buffered_;
      std::memcpy(buffer_.data() + num_buffered_, from, fill);
      compress_(state_, buffer_.data(), 1);
      num_buffered_ = 0;
      from += fill;
      num_bytes -= fill;
    }
    const std::size_t num_chunks = num_bytes / 64;
    if (num_chunks > 0) compress_(state_, from, num_chunks);
    from += 64 * num_chunks;
    num_bytes -= 64 * num_chunks;
  }
  if (num_bytes > 0)
    std::memcpy(buffer_.data() + num_buffered_, from, num_bytes);
  num_buffered_ += num_bytes;
}

void Sha256::Finish(unsigned char* digest) {
  compress_(state_, buffer_.data(),
            PadSha256(buffer_.data(), num_buffered_, num_bytes_));
  StoreBigEndian(state_, digest);
}

std::size_t PadSha256(unsigned char* chunks, std::size_t num_tail,
                      uint64_t num_bytes) {
  // A 1 bit, zeros, and the length in bits as 8 big-endian bytes.
  const std::size_t end = (num_tail + 9 + 63) / 64 * 64;
  chunks[num_tail] = 0x80;
  std::memset(chunks + num_tail + 1, 0, end - num_tail - 1);
  const uint64_t num_bits = num_bytes * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    chunks[end - 1 - i] = static_cast<unsigned char>(num_bits >> (8 * i));
  }
  return end / 64;
}

void Sha256OfPadded(const unsigned char* chunks, std::size_t num_chunks,
                    unsigned char* digest) {
  Sha256State state = kInitialState;
  BestCompress()(state, chunks, num_chunks);
  StoreBigEndian(state, digest);
}

}  // namespace paged::internal
