#include "paged/block_table.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

int64_t BlocksFor(int64_t context_len, int block_size) {
  return (context_len + block_size - 1) / block_size;
}

struct BlockNeeds {
  int64_t total = 0;
  int64_t longest = 0;
};

absl::StatusOr<BlockNeeds> CountBlocks(absl::Span<const int32_t> context_lens,
                                       int block_size) {
  BlockNeeds needs;
  for (std::size_t seq = 0; seq < context_lens.size(); ++seq) {
    if (context_lens[seq] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("context_lens must not be negative; got ",
                       context_lens[seq], " for sequence ", seq));
    }
    const int64_t blocks = BlocksFor(context_lens[seq], block_size);
    needs.total += blocks;
    needs.longest = std::max(needs.longest, blocks);
  }
  return needs;
}

// Fisher-Yates with a plain modulus: the order is the same with every standard
// library, which std::shuffle does not promise.
std::vector<int32_t> ShuffledBlocks(int64_t num_blocks, uint32_t seed) {
  std::vector<int32_t> blocks(static_cast<std::size_t>(num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::mt19937 random(seed);
  for (std::size_t i = blocks.size(); i > 1; --i) {
    std::swap(blocks[i - 1], blocks[random() % i]);
  }
  return blocks;
}

bool HasTokens(const BlockTable& table) {
  return std::any_of(table.context_lens.begin(), table.context_lens.end(),
                     [](int32_t len) { return len > 0; });
}

struct PoolAxis {
  const char* stride_name;
  std::size_t stride;
  std::size_t extent;
};

// No two slots share a byte: each axis, the shorter stride first, steps over
// what lies within one of its steps.
absl::Status CheckPoolStrides(const BlockTable& table,
                              std::size_t bytes_per_token,
                              const BlockPool& pool) {
  PoolAxis axes[] = {{"slot_stride_bytes", pool.slot_stride_bytes,
                      static_cast<std::size_t>(table.block_size)},
                     {"block_stride_bytes", pool.block_stride_bytes,
                      static_cast<std::size_t>(table.num_blocks)}};
  if (axes[1].stride < axes[0].stride) std::swap(axes[0], axes[1]);
  std::size_t span = bytes_per_token;
  for (const PoolAxis& axis : axes) {
    if (axis.extent <= 1) continue;
    if (axis.stride < span) {
      return absl::InvalidArgumentError(
          absl::StrCat("pool.", axis.stride_name, " must be at least ", span,
                       ", so that no two slots overlap; got ", axis.stride));
    }
    std::size_t steps = 0;
    if (__builtin_mul_overflow(axis.extent - 1, axis.stride, &steps) ||
        __builtin_add_overflow(span, steps, &span)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pool.", axis.stride_name,
          " must keep the pool within the address space; got ", axis.stride));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const int32_t> BlockTable::row(int seq) const {
  const auto width = static_cast<std::size_t>(max_blocks_per_seq);
  return absl::MakeConstSpan(entries).subspan(
      static_cast<std::size_t>(seq) * width, width);
}

absl::StatusOr<BlockTable> BuildBlockTable(
    absl::Span<const int32_t> context_lens, const BlockTableOptions& options) {
  if (options.block_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block_size must be at least 1; got ", options.block_size));
  }
  if (options.num_blocks < 0 || options.num_blocks > INT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_blocks must be in 0..", INT32_MAX, "; got ", options.num_blocks));
  }
  PAGED_ASSIGN_OR_RETURN(const BlockNeeds needs,
                         CountBlocks(context_lens, options.block_size));
  const int64_t width = options.max_blocks_per_seq != 0
                            ? options.max_blocks_per_seq
                            : needs.longest;
  if (width < needs.longest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_blocks_per_seq must be at least the ", needs.longest,
        " blocks of the longest sequence; got ", options.max_blocks_per_seq));
  }
  const int64_t num_blocks =
      options.num_blocks != 0 ? options.num_blocks : needs.total;
  if (num_blocks < needs.total || num_blocks > INT32_MAX) {
    return absl::ResourceExhaustedError(
        absl::StrCat("num_blocks must cover the ", needs.total,
                     " blocks of all sequences; got ", options.num_blocks));
  }

  BlockTable table;
  table.context_lens.assign(context_lens.begin(), context_lens.end());
  table.max_blocks_per_seq = static_cast<int>(width);
  table.block_size = options.block_size;
  table.num_blocks = num_blocks;
  table.entries.assign(context_lens.size() * static_cast<std::size_t>(width),
                       options.tail_entry);
  const std::vector<int32_t> blocks = ShuffledBlocks(num_blocks, options.seed);
  auto next = blocks.begin();
  for (std::size_t seq = 0; seq < context_lens.size(); ++seq) {
    const int64_t count = BlocksFor(context_lens[seq], options.block_size);
    std::copy(next, next + count,
              table.entries.begin() + static_cast<int64_t>(seq) * width);
    next += count;
  }
  return table;
}

absl::Status CopyToBlocks(const BlockTable& table, const void* tokens,
                          std::size_t bytes_per_token, const BlockPool& pool) {
  if (!HasTokens(table) || bytes_per_token == 0) return absl::OkStatus();
  if (tokens == nullptr || pool.data == nullptr) {
    return absl::InvalidArgumentError(
        "tokens and pool.data must not be null when there are tokens");
  }
  PAGED_RETURN_IF_ERROR(CheckPoolStrides(table, bytes_per_token, pool));
  const auto* from = static_cast<const char*>(tokens);
  for (int seq = 0; seq < table.num_seqs(); ++seq) {
    const int32_t context_len =
        table.context_lens[static_cast<std::size_t>(seq)];
    const absl::Span<const int32_t> blocks = table.row(seq);
    for (int32_t position = 0; position < context_len; ++position) {
      const auto block = static_cast<std::size_t>(
          blocks[static_cast<std::size_t>(position / table.block_size)]);
      const auto slot = static_cast<std::size_t>(position % table.block_size);
      std::memcpy(static_cast<char*>(pool.data) +
                      block * pool.block_stride_bytes +
                      slot * pool.slot_stride_bytes,
                  from, bytes_per_token);
      from += bytes_per_token;
    }
  }
  return absl::OkStatus();
}

}  // namespace paged
