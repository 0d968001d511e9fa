// Batches to make schedules of, for the list's own tests and for the kernel
// that must make the same one.
#ifndef PAGED_TESTS_SUPPORT_SCHEDULE_CASES_H_
#define PAGED_TESTS_SUPPORT_SCHEDULE_CASES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/core/schedule.h"

namespace paged::testing {

struct ScheduleCase {
  std::vector<int32_t> context_lens = {};
  int max_context_len = 0;
  int first_rung = 0;
  int max_extra_chunks = 0;

  int max_chunks() const {
    return static_cast<int>(context_lens.size()) + max_extra_chunks;
  }
  ScheduleParams ParamsFor(const int32_t* lens, ScheduleView view) const {
    return {.context_lens = lens,
            .num_seqs = static_cast<int>(context_lens.size()),
            .max_context_len = max_context_len,
            .first_rung = first_rung,
            .max_chunks = max_chunks(),
            .schedule = view};
  }
};

struct ScheduleList {
  ScheduleHeader header = {};
  std::vector<Chunk> chunks = {};
  friend bool operator==(const ScheduleList&, const ScheduleList&) = default;
};

// By the specification, in memory of exactly the capacity.
ScheduleList MakeScheduleList(const ScheduleCase& c);

// `num_seqs` lengths: empty, of one token, of the capacity, below 0 and beyond
// the capacity among them; all short, all long or of any size.
std::vector<int32_t> RandomContextLens(std::mt19937& random, int num_seqs,
                                       int max_context_len);

// Up to 40 sequences, room for 0 to 200 more chunks.
ScheduleCase RandomScheduleCase(std::mt19937& random);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_SCHEDULE_CASES_H_
