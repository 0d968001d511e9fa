// SHA-256 by the x86 SHA extensions. Compiled on every machine and chosen when
// the program runs, so that one binary serves CPUs with and without them.
#include <cstddef>

#include "paged/internal/sha256.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

namespace paged::internal {
namespace {

#define PAGED_SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))

bool HasShaInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const bool has_sse = (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return has_sse && (b & bit_SHA) != 0;
}

// The instructions hold the eight words of the state as (A B E F) and
// (C D G H), highest word first, and do two rounds each (Intel SDM, volume 2,
// SHA256RNDS2).
struct Halves {
  __m128i abef;
  __m128i cdgh;
};

PAGED_SHA_TARGET inline Halves Load(const Sha256State& state) {
  const auto* words = reinterpret_cast<const __m128i*>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  return {_mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xF0)};
}

PAGED_SHA_TARGET inline void Store(const Halves& halves, Sha256State& state) {
  auto* words = reinterpret_cast<__m128i*>(state.data());
  const __m128i feba = _mm_shuffle_epi32(halves.abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(halves.cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

// Four rounds with the four message words `w`.
PAGED_SHA_TARGET inline void FourRounds(Halves& halves, __m128i w,
                                        std::size_t round) {
  const __m128i k = _mm_loadu_si128(
      reinterpret_cast<const __m128i*>(kSha256Rounds.data() + round));
  const __m128i wk = _mm_add_epi32(w, k);
  halves.cdgh = _mm_sha256rnds2_epu32(halves.cdgh, halves.abef, wk);
  halves.abef = _mm_sha256rnds2_epu32(halves.abef, halves.cdgh,
                                      _mm_shuffle_epi32(wk, 0x0E));
}

// Message words t..t+3 from the sixteen before them.
PAGED_SHA_TARGET inline __m128i NextWords(__m128i w16, __m128i w12, __m128i w8,
                                          __m128i w4) {
  const __m128i sum =
      _mm_add_epi32(_mm_sha256msg1_epu32(w16, w12), _mm_alignr_epi8(w4, w8, 4));
  return _mm_sha256msg2_epu32(sum, w4);
}

PAGED_SHA_TARGET void CompressSha(Sha256State& state,
                                  const unsigned char* chunks,
                                  std::size_t num_chunks) {
  const __m128i big_endian =
      _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  Halves halves = Load(state);
  for (; num_chunks > 0; --num_chunks, chunks += 64) {
    const Halves before = halves;
    const auto* words = reinterpret_cast<const __m128i*>(chunks);
    __m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(words), big_endian);
    __m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128(words + 1), big_endian);
    __m128i w2 = _mm_shuffle_epi8(_mm_loadu_si128(words + 2), big_endian);
    __m128i w3 = _mm_shuffle_epi8(_mm_loadu_si128(words + 3), big_endian);
    for (std::size_t round = 0;; round += 16) {
      FourRounds(halves, w0, round);
      FourRounds(halves, w1, round + 4);
      FourRounds(halves, w2, round + 8);
      FourRounds(halves, w3, round + 12);
      if (round == 48) break;
      w0 = NextWords(w0, w1, w2, w3);
      w1 = NextWords(w1, w2, w3, w0);
      w2 = NextWords(w2, w3, w0, w1);
      w3 = NextWords(w3, w0, w1, w2);
    }
    halves.abef = _mm_add_epi32(halves.abef, before.abef);
    halves.cdgh = _mm_add_epi32(halves.cdgh, before.cdgh);
  }
  Store(halves, state);
}

}  // namespace

Sha256Compress AcceleratedCompress() {
  return HasShaInstructions() ? &CompressSha : nullptr;
}

}  // namespace paged::internal

#else

namespace paged::internal {

Sha256Compress AcceleratedCompress() { return nullptr; }

}  // namespace paged::internal

#endif
