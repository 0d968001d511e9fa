// The walk's steps: what they write and read, and when the device runs them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/lib/blocks/model_walk.h"

namespace paged::testing {

std::vector<DeviceSlot> ModelWalk::SlotsOf(const Sequence& sequence,
                                           int64_t begin, int64_t end) {
  const int64_t size = options_.manager.block_size;
  std::vector<DeviceSlot> slots;
  for (int64_t position = begin; position < end; ++position) {
    DeviceSlot slot{.value = sequence.kv[static_cast<std::size_t>(position)]};
    const absl::StatusOr<int64_t> in_pool =
        manager_->SlotOf(sequence.handle, position);
    if (!in_pool.ok()) {
      if (sequence.kind == Kind::kStream) {
        Fail(absl::StrCat("a stream has lost ", in_pool.status().ToString()));
      }
      continue;  // slid away
    }
    slot.by_table = sequence.kind == Kind::kSequence;
    slot.slot = slot.by_table ? position % size : *in_pool;
    slot.entry =
        sequence.handle.slot *
            static_cast<uint32_t>(options_.manager.max_blocks_per_seq) +
        static_cast<uint32_t>(position / size);
    slots.push_back(slot);
  }
  return slots;
}

std::vector<DeviceSlot> ModelWalk::ReadsOf(const Sequence& sequence) {
  if (sequence.kind != Kind::kStream) {
    return SlotsOf(sequence, 0, sequence.length());
  }
  const int64_t sink = std::min(sequence.stream.sink, sequence.length());
  const int64_t window_begin = std::max(
      sink,
      std::max<int64_t>(0, sequence.chunk_begin - sequence.stream.window + 1));
  std::vector<DeviceSlot> reads = SlotsOf(sequence, 0, sink);
  const std::vector<DeviceSlot> window =
      SlotsOf(sequence, window_begin, sequence.length());
  reads.insert(reads.end(), window.begin(), window.end());
  return reads;
}

std::vector<DeviceStep> ModelWalk::BuildStep(const SubmittedStep& submitted) {
  const bool two_queues = options_.manager.reuse == ReusePolicy::kAfterRetire;
  std::vector<DeviceStep> steps(FakeDevice::kNumQueues);
  for (DeviceStep& step : steps) step.id = submitted.id;
  const auto step_of = [&](int queue) -> DeviceStep& {
    return steps[two_queues ? static_cast<std::size_t>(queue) : 0];
  };

  // In small pieces, to see that nothing is lost between them.
  std::vector<TableChange> changes(1 + Random(5));
  const auto width = static_cast<uint32_t>(options_.manager.max_blocks_per_seq);
  while (std::size_t n = manager_->TakeTableChanges(absl::MakeSpan(changes))) {
    for (std::size_t i = 0; i < n; ++i) {
      for (const auto& sequence : open_) {
        if (sequence->handle.slot == changes[i].index / width) {
          step_of(sequence->queue).changes.push_back(changes[i]);
        }
      }
    }
  }
  for (std::size_t i = 0; i < submitted.copies.size(); ++i) {
    step_of(queue_of_copy_[i]).copies.push_back(submitted.copies[i]);
  }
  queue_of_copy_.clear();
  for (const auto& sequence : open_) {
    if (sequence->kind == Kind::kPin) continue;
    DeviceStep& step = step_of(sequence->queue);
    const bool writes = sequence->written < sequence->length();
    if (writes) {
      const std::vector<DeviceSlot> slots =
          SlotsOf(*sequence, sequence->written, sequence->length());
      step.writes.insert(step.writes.end(), slots.begin(), slots.end());
    }
    if (Random(writes ? 2 : 4) == 0) {
      const std::vector<DeviceSlot> slots = ReadsOf(*sequence);
      step.reads.insert(step.reads.end(), slots.begin(), slots.end());
    }
    sequence->written = sequence->length();
    sequence->marks.emplace_back(submitted.id, sequence->length());
  }
  return steps;
}

void ModelWalk::Submit() {
  std::optional<bool> predicted;
  if (naive_ != nullptr) {
    if (manager_->copies() != absl::MakeConstSpan(naive_->copies())) {
      Fail("copies are not as predicted");
    }
    predicted = naive_->Submit();
  }
  absl::StatusOr<SubmittedStep> submitted;
  if (!Agree("Submit", predicted, [&] {
        submitted = manager_->SubmitStep();
        return submitted.status();
      })) {
    return;
  }
  submitted_ = submitted->id;
  std::vector<DeviceStep> steps = BuildStep(*submitted);
  for (int queue = 0; queue < FakeDevice::kNumQueues; ++queue) {
    device_.Enqueue(queue, std::move(steps[static_cast<std::size_t>(queue)]));
  }
}

void ModelWalk::RunDevice() {
  const int queue = static_cast<int>(Random(FakeDevice::kNumQueues));
  if (device_.num_waiting(queue) == 0) return;
  if (!device_.RunNext(queue)) {
    Fail(absl::StrCat("the device read a wrong value in step ",
                      device_.last_run(queue)));
  }
}

void ModelWalk::Retire() {
  // Of what has run, one step, or all.
  const uint64_t done = std::min(device_.last_run(0), device_.last_run(1));
  if (Random(16) == 0 && done <= retired_) {
    Agree("Retire twice", false,
          [&] { return manager_->RetireStep(retired_); });
  }
  if (done <= retired_) return;
  const uint64_t step = retired_ + 1 + Random(done - retired_);
  if (naive_ != nullptr) naive_->Retire(step);
  Agree("Retire", true, [&] { return manager_->RetireStep(step); });
  retired_ = step;
  for (const auto& sequence : open_) {
    while (!sequence->marks.empty() && sequence->marks.front().first <= step) {
      sequence->finished = sequence->marks.front().second;
      sequence->marks.pop_front();
    }
  }
}

}  // namespace paged::testing
