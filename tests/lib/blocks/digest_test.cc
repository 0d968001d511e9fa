#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "paged/block_digest.h"
#include "paged/internal/sha256.h"

namespace paged {
namespace {

using internal::Sha256;
using internal::Sha256Compress;

std::string Hex(Sha256& hash) {
  unsigned char bytes[32];
  hash.Finish(bytes);
  std::string text;
  for (const unsigned char byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", byte);
    text += two;
  }
  return text;
}

class Sha256Test : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    compress_ = GetParam() ? internal::AcceleratedCompress()
                           : &internal::CompressPortable;
    if (compress_ == nullptr) GTEST_SKIP() << "no SHA instructions";
  }
  std::string Of(const std::string& text) {
    Sha256 hash(compress_);
    hash.Update(text.data(), text.size());
    return Hex(hash);
  }
  Sha256Compress compress_ = nullptr;
};

// FIPS 180 examples, and the empty message and a million times "a" of the NIST
// vectors.
TEST_P(Sha256Test, AgreesWithThePublishedVectors) {
  EXPECT_EQ(Of(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmn"
               "oijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(Of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length around the ends of chunks and paddings, cut anywhere.
TEST_P(Sha256Test, PiecesHashAsTheWholeByEitherCode) {
  for (std::size_t length = 0; length < 200; ++length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) {
      text += static_cast<char>(i * 37 + length);
    }
    Sha256 portable(&internal::CompressPortable);
    portable.Update(text.data(), length);
    const std::string expected = Hex(portable);
    for (std::size_t cut = 0; cut <= length; cut += 1 + cut / 4) {
      Sha256 hash(compress_);
      hash.Update(text.data(), cut);
      hash.Update(text.data() + cut, length - cut);
      ASSERT_EQ(Hex(hash), expected) << length << " cut at " << cut;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Code, Sha256Test, ::testing::Values(false, true),
                         [](const auto& info) {
                           return info.param ? "Instructions" : "Portable";
                         });

// The framing, from an independent computation of the documented bytes.
std::string Little(uint64_t value, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) {
    bytes += static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

std::string Bytes(const BlockDigest& digest) {
  return {reinterpret_cast<const char*>(digest.words.data()), 32};
}

std::string HashOf(const std::string& text) {
  Sha256 hash(&internal::CompressPortable);
  hash.Update(text.data(), text.size());
  unsigned char bytes[32];
  hash.Finish(bytes);
  return {reinterpret_cast<const char*>(bytes), 32};
}

TEST(BlockDigestTest, HashesLengthFramedBytes) {
  const BlockDigest root =
      RootDigest({.salt = "salt", .extra_key_type = 3, .extra_key = "key"}, 2);
  EXPECT_EQ(Bytes(root), HashOf(Little(14, 8) + "paged prefix 1" +
                                Little(2, 4) + Little(4, 8) + "salt" +
                                Little(3, 4) + Little(3, 8) + "key"));
  const std::vector<int32_t> tokens = {7, -1, 8, 9};
  std::vector<BlockDigest> digests(2);
  DigestBlocks(root, tokens, 2, absl::MakeSpan(digests));
  EXPECT_EQ(Bytes(digests[0]), HashOf(Bytes(root) + Little(2, 8) +
                                      Little(7, 4) + Little(0xFFFFFFFF, 4)));
  EXPECT_EQ(Bytes(digests[1]), HashOf(Bytes(digests[0]) + Little(2, 8) +
                                      Little(8, 4) + Little(9, 4)));
}

// Long blocks are hashed in pieces, short ones laid out whole: alike.
TEST(BlockDigestTest, BlocksOfAnySizeAreFramedAlike) {
  for (const int block_size : {1, 3, 4, 5, 6, 255, 256, 257, 1000}) {
    const std::vector<int32_t> tokens(static_cast<std::size_t>(block_size), 5);
    std::string message(32, '\0');
    message += Little(static_cast<uint64_t>(block_size), 8);
    for (const int32_t token : tokens) {
      message += Little(static_cast<uint64_t>(token), 4);
    }
    BlockDigest digest;
    DigestBlocks({}, tokens, block_size, absl::MakeSpan(&digest, 1));
    EXPECT_EQ(Bytes(digest), HashOf(message)) << block_size;
  }
}

// BR-152: also (type A, "x") and (type B, "x"); and no text may slip from one
// field to the next.
TEST(BlockDigestTest, DomainsDoNotMeet) {
  const std::vector<BlockDigest> roots = {
      RootDigest({}, 16),
      RootDigest({}, 32),
      RootDigest({.salt = "x"}, 16),
      RootDigest({.salt = "xy"}, 16),
      RootDigest({.salt = "x", .extra_key = "y"}, 16),
      RootDigest({.extra_key = "x"}, 16),
      RootDigest({.extra_key_type = 1, .extra_key = "x"}, 16),
      RootDigest({.extra_key_type = 2, .extra_key = "x"}, 16)};
  for (std::size_t i = 0; i < roots.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(roots[i], roots[j]);
  }
}

TEST(BlockDigestTest, ContinuesFromAParentAsIfAtOnce) {
  for (const int block_size : {1, 4, 16, 256}) {
    std::vector<int32_t> tokens;
    for (int i = 0; i < 5 * block_size + 1; ++i) tokens.push_back(i * i);
    const std::vector<BlockDigest> all = DigestPrompt({}, tokens, block_size);
    ASSERT_EQ(all.size(), block_size == 1 ? 6u : 5u);
    std::vector<BlockDigest> rest(3);
    DigestBlocks(all[1],
                 absl::MakeConstSpan(tokens).subspan(
                     static_cast<std::size_t>(2 * block_size)),
                 block_size, absl::MakeSpan(rest));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rest[i], all[2 + i]);
  }
}

}  // namespace
}  // namespace paged
