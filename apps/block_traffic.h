// Random traffic on a block manager.
#ifndef PAGED_APPS_BLOCK_TRAFFIC_H_
#define PAGED_APPS_BLOCK_TRAFFIC_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "paged/block_manager.h"

namespace paged {

// A manager that random traffic runs on. Its calls may fail for want of blocks,
// which is part of the traffic.
class Traffic {
 public:
  Traffic(BlockManager manager, int seed)
      : manager_(std::move(manager)), random_(static_cast<uint64_t>(seed)) {}
  virtual ~Traffic() = default;

  virtual void Step() = 0;
  BlockManager& manager() { return manager_; }

 protected:
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(
                       random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
  // Takes one of `all` away.
  template <typename T>
  T TakeAny(std::vector<T>& all) {
    const auto at = static_cast<std::size_t>(
        Between(0, static_cast<int64_t>(all.size()) - 1));
    std::swap(all[at], all.back());
    T taken = std::move(all.back());
    all.pop_back();
    return taken;
  }

  BlockManager manager_;
  std::mt19937_64 random_;
};

// Null for a name that no traffic has: chat, beams, speech, churn.
std::unique_ptr<Traffic> MakeTraffic(const std::string& name,
                                     BlockManager manager, int seed);

}  // namespace paged

#endif  // PAGED_APPS_BLOCK_TRAFFIC_H_
