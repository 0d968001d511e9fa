#include "apps/lens_flag.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "paged/internal/status_macros.h"
#include "paged/schedule.h"

namespace paged {
namespace {

constexpr int kMaxSequences = 65536;
// More lines say less.
constexpr std::size_t kMaxLines = 24;

int TokensOf(const ScheduledChunk& chunk) {
  return chunk.last_token - chunk.first_token;
}

// Neighbours in the list that a line can stand for.
bool IsAlike(const ScheduledChunk& a, const ScheduledChunk& b) {
  return TokensOf(a) == TokensOf(b) && a.num_chunks == b.num_chunks &&
         (a.seq == b.seq || a.num_chunks == 1);
}

std::string LineOf(absl::Span<const ScheduledChunk> alike) {
  const ScheduledChunk& first = alike.front();
  const ScheduledChunk& last = alike.back();
  const std::string seqs =
      first.seq == last.seq
          ? absl::StrCat("sequence ", first.seq)
          : absl::StrCat("sequences ", first.seq, " to ", last.seq);
  const std::string what =
      first.num_chunks == 1
          ? std::string("whole")
          : absl::StrCat("chunks ", first.rank + 1, " to ", last.rank + 1,
                         " of ", first.num_chunks);
  return absl::StrFormat("  %5d x %6d tokens  %s, %s\n", alike.size(),
                         TokensOf(first), seqs, what);
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> ParseLens(absl::string_view text) {
  const auto refuse = [&](absl::string_view part) {
    return absl::InvalidArgumentError(
        absl::StrCat("--lens must be lengths or COUNTxLENGTH, with commas "
                     "between them; got ",
                     part.empty() ? "an empty one" : part));
  };
  std::vector<int32_t> lens;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> factors = absl::StrSplit(part, 'x');
    int count = 1;
    int len = 0;
    if (factors.size() > 2 || !absl::SimpleAtoi(factors.back(), &len) ||
        len < 0 ||
        (factors.size() == 2 &&
         (!absl::SimpleAtoi(factors.front(), &count) || count < 1))) {
      return refuse(part);
    }
    if (static_cast<std::size_t>(count) > kMaxSequences - lens.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--lens must be at most ", kMaxSequences, " sequences; got more"));
    }
    lens.insert(lens.end(), static_cast<std::size_t>(count), len);
  }
  return lens;
}

void SetLens(absl::Span<const int32_t> lens, DecodeShape& shape) {
  shape.num_seqs = static_cast<int>(lens.size());
  shape.max_context_len = *std::max_element(lens.begin(), lens.end());
  const int64_t tokens = std::accumulate(lens.begin(), lens.end(), int64_t{0});
  shape.expected_context_len = static_cast<int>((tokens + shape.num_seqs - 1) /
                                                std::max(shape.num_seqs, 1));
  shape.lengths = LengthSpread::kRagged;
  const int64_t columns =
      (int64_t{shape.max_context_len} + shape.block_size - 1) /
      shape.block_size;
  shape.max_blocks_per_seq = static_cast<int>(std::max<int64_t>(columns, 1));
  shape.num_blocks = int64_t{shape.num_seqs} * shape.max_blocks_per_seq;
}

absl::StatusOr<std::string> ScheduleText(const DecodePlan& plan,
                                         absl::Span<const int32_t> lens) {
  if (plan.partition != Partition::kChunks) {
    return absl::StrCat("\nschedule none: the partition is ",
                        NameOf(plan.partition),
                        "; --partition=chunks shows one\n");
  }
  PAGED_ASSIGN_OR_RETURN(const std::vector<ScheduledChunk> chunks,
                         ListChunks(plan, lens));
  std::string text = absl::StrFormat(
      "\nschedule %d chunks of at most %d, each for %d kv heads, in the order "
      "in "
      "which they start\n",
      chunks.size(), plan.shape.num_seqs + plan.chunking.max_extra_chunks,
      plan.shape.num_kv_heads);
  std::size_t num_lines = 0;
  for (std::size_t begin = 0; begin < chunks.size();) {
    std::size_t end = begin + 1;
    while (end < chunks.size() && IsAlike(chunks[begin], chunks[end])) ++end;
    if (++num_lines > kMaxLines) {
      absl::StrAppend(&text, "  and ", chunks.size() - begin, " more\n");
      break;
    }
    absl::StrAppend(
        &text, LineOf(absl::MakeConstSpan(chunks).subspan(begin, end - begin)));
    begin = end;
  }
  return text;
}

}  // namespace paged
