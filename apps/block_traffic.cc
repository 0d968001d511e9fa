#include "apps/block_traffic.h"

#include "paged/block_digest.h"

namespace paged {
namespace {

// Conversations over one system prompt: each turn finds what came before it.
class Chat final : public Traffic {
 public:
  using Traffic::Traffic;

  void Step() override {
    if (talks_.size() < 24 && OneIn(3)) {
      talks_.emplace_back();
      for (int32_t i = 0; i < 100; ++i) talks_.back().push_back(i);
    }
    if (!talks_.empty() && turns_.size() < 10 && OneIn(2)) BeginTurn();
    for (std::size_t i = 0; i < turns_.size();) {
      Turn& turn = turns_[i];
      const bool has_room = manager_.Append(turn.handle, 1).ok();
      turn.tokens.push_back(static_cast<int32_t>(Between(0, 1 << 20)));
      if (has_room && --turn.tokens_left > 0) {
        ++i;
        continue;
      }
      if (!has_room) turn.tokens.pop_back();
      EndTurn(turn);
      std::swap(turn, turns_.back());
      turns_.pop_back();
    }
  }

 private:
  struct Turn {
    SequenceHandle handle;
    std::vector<int32_t> tokens;
    int64_t tokens_left;
  };

  void BeginTurn() {
    std::vector<int32_t> tokens = TakeAny(talks_);
    for (int64_t i = Between(30, 200); i > 0; --i) {
      tokens.push_back(static_cast<int32_t>(Between(0, 1 << 20)));
    }
    const std::vector<BlockDigest> digests =
        DigestPrompt({}, tokens, manager_.options().block_size);
    const auto opened =
        manager_.Open({.num_tokens = static_cast<int64_t>(tokens.size()),
                       .prefix = {.digests = digests}});
    if (!opened.ok()) return;
    turns_.push_back({opened->handle, std::move(tokens), Between(10, 80)});
  }
  void EndTurn(Turn& turn) {
    const std::vector<BlockDigest> digests =
        DigestPrompt({}, turn.tokens, manager_.options().block_size);
    (void)manager_.Commit(turn.handle, static_cast<int64_t>(turn.tokens.size()),
                          {.digests = digests});
    (void)manager_.Release(turn.handle);
    if (turn.tokens.size() < 900) talks_.push_back(std::move(turn.tokens));
  }

  std::vector<std::vector<int32_t>> talks_;
  std::vector<Turn> turns_;
};

// Searches of four beams: the worst is dropped, the best forked.
class Beams final : public Traffic {
 public:
  using Traffic::Traffic;

  void Step() override {
    if (searches_.size() < 6 && OneIn(4)) {
      const auto opened = manager_.Open({.num_tokens = Between(100, 800)});
      if (opened.ok()) searches_.push_back({{opened->handle}, Between(30, 90)});
      // Its prompt is computed first: what this step writes, it cannot copy.
      return;
    }
    for (std::size_t i = 0; i < searches_.size();) {
      Search& search = searches_[i];
      if (search.beams.size() == 4 && OneIn(3)) {
        (void)manager_.Release(TakeAny(search.beams));
      }
      while (search.beams.size() < 4) {
        const auto child = manager_.Fork(search.beams.front());
        if (!child.ok()) break;
        search.beams.push_back(*child);
      }
      bool has_room = true;
      for (const SequenceHandle beam : search.beams) {
        has_room = has_room && manager_.Append(beam, 1).ok();
      }
      if (has_room && --search.steps_left > 0) {
        ++i;
        continue;
      }
      for (const SequenceHandle beam : search.beams) {
        (void)manager_.Release(beam);
      }
      std::swap(search, searches_.back());
      searches_.pop_back();
    }
  }

 private:
  struct Search {
    std::vector<SequenceHandle> beams;
    int64_t steps_left;
  };
  std::vector<Search> searches_;
};

// Streams of speech: a chunk of up to 13 tokens each 80 ms, of which each token
// sees the first 4 and the last 750.
class Speech final : public Traffic {
 public:
  using Traffic::Traffic;

  void Step() override {
    if (streams_.size() < 9 && OneIn(6)) {
      const auto opened =
          manager_.OpenStream({.window = 750, .sink = 4, .max_chunk = 13});
      if (opened.ok()) streams_.push_back(*opened);
    }
    for (const SequenceHandle stream : streams_) {
      (void)manager_.Append(stream, Between(1, 13));
    }
    if (!streams_.empty() && OneIn(40)) {
      (void)manager_.Release(TakeAny(streams_));
    }
  }

 private:
  std::vector<SequenceHandle> streams_;
};

// Requests of all lengths; the newest gives way when blocks run out. Some draft
// and roll back, some slide.
class Churn final : public Traffic {
 public:
  using Traffic::Traffic;

  void Step() override {
    if (OneIn(2)) {
      const auto opened = manager_.Open({.num_tokens = Between(1, 400)});
      if (opened.ok()) open_.push_back(opened->handle);
    }
    for (std::size_t i = 0; i < open_.size(); ++i) {
      while (!manager_.Append(open_[i], 1).ok() && open_.size() > i + 1) {
        (void)manager_.Release(open_.back());
        open_.pop_back();
      }
    }
    if (open_.empty()) return;
    const SequenceHandle any = open_[static_cast<std::size_t>(
        Between(0, static_cast<int64_t>(open_.size()) - 1))];
    if (OneIn(3) && manager_.Append(any, 5).ok()) {
      (void)manager_.RollbackTo(any, *manager_.Length(any) - Between(0, 5));
    }
    if (OneIn(8)) (void)manager_.Slide(any, 64, 16);
    if (OneIn(6)) (void)manager_.Release(TakeAny(open_));
  }

 private:
  std::vector<SequenceHandle> open_;
};

}  // namespace

std::unique_ptr<Traffic> MakeTraffic(const std::string& name,
                                     BlockManager manager, int seed) {
  if (name == "chat") return std::make_unique<Chat>(std::move(manager), seed);
  if (name == "beams") return std::make_unique<Beams>(std::move(manager), seed);
  if (name == "speech") {
    return std::make_unique<Speech>(std::move(manager), seed);
  }
  if (name == "churn") return std::make_unique<Churn>(std::move(manager), seed);
  return nullptr;
}

}  // namespace paged
