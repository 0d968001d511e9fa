#include "tests/support/schedule_cases.h"

#include <algorithm>
#include <cmath>

namespace paged::testing {

ScheduleList MakeScheduleList(const ScheduleCase& c) {
  ScheduleList list;
  list.chunks.resize(static_cast<std::size_t>(c.max_chunks()));
  MakeSchedule(
      c.ParamsFor(c.context_lens.data(), {&list.header, list.chunks.data()}));
  list.chunks.resize(static_cast<std::size_t>(list.header.num_chunks));
  return list;
}

std::vector<int32_t> RandomContextLens(std::mt19937& random, int num_seqs,
                                       int max_context_len) {
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<uint32_t>(n));
  };
  const int kind = below(4);
  std::vector<int32_t> lens(static_cast<std::size_t>(num_seqs));
  for (int32_t& len : lens) {
    const int special = below(kind == 0 ? 4 : 12);
    if (special == 0) {
      constexpr int32_t kOdd[] = {0, 1, 16, 17, -1, INT32_MIN, INT32_MAX};
      const int i = below(8);
      len = i == 7 ? max_context_len : kOdd[i];
    } else if (kind == 1) {
      len = below(std::min(max_context_len, 300) + 1);
    } else if (kind == 2) {
      len = max_context_len - below(std::min(max_context_len, 300) + 1);
    } else {
      // Any order of magnitude alike.
      const double u = static_cast<double>(random()) / 4294967296.0;
      len = static_cast<int32_t>(std::pow(max_context_len + 1.0, u)) - 1;
    }
  }
  return lens;
}

ScheduleCase RandomScheduleCase(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<int>(random() % n); };
  constexpr int kCapacities[] = {0,    1,      17,      1000,
                                 4096, 131072, 2000000, INT32_MAX};
  ScheduleCase c{.context_lens = {},
                 .max_context_len = kCapacities[below(8)],
                 .first_rung = below(8),
                 .max_extra_chunks = below(3) == 0 ? below(4) : below(201)};
  c.context_lens = RandomContextLens(random, below(41), c.max_context_len);
  return c;
}

}  // namespace paged::testing
