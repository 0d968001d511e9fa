// A device that runs late: KV memory of one number per slot, and two queues
// whose steps run in order, each at its own pace.
#ifndef PAGED_TESTS_LIB_BLOCKS_FAKE_DEVICE_H_
#define PAGED_TESTS_LIB_BLOCKS_FAKE_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "paged/block_manager_types.h"

namespace paged::testing {

// A slot, named as the kernels do: by the block table, or, for streams, by its
// number in the pool.
struct DeviceSlot {
  bool by_table = true;
  uint32_t entry = 0;  // of the table
  int64_t slot = 0;    // within the block, or in the pool
  uint64_t value = 0;  // to write, or to find
};

// Done in this order.
struct DeviceStep {
  uint64_t id = 0;
  std::vector<TableChange> changes;
  std::vector<BlockCopy> copies;
  std::vector<DeviceSlot> writes;
  std::vector<DeviceSlot> reads;
};

class FakeDevice {
 public:
  static constexpr int kNumQueues = 2;

  explicit FakeDevice(const BlockManagerOptions& options)
      : block_size_(options.block_size),
        memory_(
            static_cast<std::size_t>(options.num_blocks * options.block_size),
            kDead) {
    for (auto& table : tables_) {
      table.assign(static_cast<std::size_t>(options.max_seqs) *
                       static_cast<std::size_t>(options.max_blocks_per_seq),
                   0);
    }
  }

  void Enqueue(int queue, DeviceStep step) {
    queues_[At(queue)].push_back(std::move(step));
  }
  std::size_t num_waiting(int queue) const { return queues_[At(queue)].size(); }
  uint64_t last_run(int queue) const { return last_run_[At(queue)]; }

  // Runs the queue's next step. False if a read found another value.
  [[nodiscard]] bool RunNext(int queue) {
    const DeviceStep step = std::move(queues_[At(queue)].front());
    queues_[At(queue)].pop_front();
    std::vector<int32_t>& table = tables_[At(queue)];
    for (const TableChange& change : step.changes) {
      table[change.index] = change.block;
    }
    // As if simultaneous: a chain of copies would show.
    std::vector<std::vector<uint64_t>> sources;
    for (const BlockCopy& copy : step.copies) {
      const auto from = memory_.begin() + int64_t{copy.source} * block_size_;
      sources.emplace_back(from, from + block_size_);
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      std::copy(
          sources[i].begin(), sources[i].end(),
          memory_.begin() + int64_t{step.copies[i].destination} * block_size_);
    }
    for (const DeviceSlot& slot : step.writes) Cell(table, slot) = slot.value;
    bool ok = true;
    for (const DeviceSlot& slot : step.reads) {
      ok &= Cell(table, slot) == slot.value;
    }
    last_run_[At(queue)] = step.id;
    return ok;
  }

  int32_t entry(int queue, uint32_t index) const {
    return tables_[At(queue)][index];
  }

 private:
  static constexpr uint64_t kDead = 0xDEADDEADDEADDEADu;

  static std::size_t At(int queue) { return static_cast<std::size_t>(queue); }
  uint64_t& Cell(const std::vector<int32_t>& table, const DeviceSlot& slot) {
    const int64_t base =
        slot.by_table ? int64_t{table[slot.entry]} * block_size_ : 0;
    return memory_[static_cast<std::size_t>(base + slot.slot)];
  }

  int64_t block_size_;
  std::vector<uint64_t> memory_;
  std::array<std::vector<int32_t>, kNumQueues> tables_;
  std::array<std::deque<DeviceStep>, kNumQueues> queues_;
  std::array<uint64_t, kNumQueues> last_run_ = {};
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_FAKE_DEVICE_H_
