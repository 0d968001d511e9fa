#include "tests/lib/blocks/model_walk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "paged/internal/block_manager_state.h"
#include "tests/lib/blocks/snapshot.h"

namespace paged::testing {

ModelWalk::ModelWalk(const WalkOptions& options)
    : options_(options),
      random_(options.seed),
      manager_(BlockManager::Create(options.manager).value()),
      device_(options.manager) {
  if (!options.manager.verify_tokens) {
    naive_ = std::make_unique<NaiveManager>(options.manager);
  }
}

std::string ModelWalk::Run() {
  while (num_done_ < options_.num_operations && failure_.empty() &&
         HasChoices()) {
    Operate();
    ++num_done_;
    CompareCounts();
    if (num_done_ % options_.audit_every == 0) CheckAll();
  }
  if (failure_.empty()) Drain();
  return failure_;
}

uint64_t ModelWalk::Random(uint64_t below) {
  if (options_.choices.empty() || !HasChoices()) return random_() % below;
  uint64_t choice = options_.choices[next_choice_++];
  if (below > 256 && HasChoices()) {
    choice = choice << 8 | options_.choices[next_choice_++];
  }
  return choice % below;
}

void ModelWalk::Operate() {
  const uint64_t choice = Random(1000);
  if (choice < 130) return Open();
  if (choice < 480) return Append();
  if (choice < 530) return Fork();
  if (choice < 600) return Cut();
  if (choice < 640) return Slide();
  if (choice < 730) return Commit();
  if (choice < 745) return Pin();
  if (choice < 755) return OpenStream();
  if (choice < 757) return Reset();
  if (choice < 765) return UseStaleHandle();
  if (choice < 850) {
    if (!open_.empty()) Release(Random(open_.size()));
    return;
  }
  if (choice < 920) return Submit();
  if (choice < 970) return RunDevice();
  Retire();
}

void ModelWalk::Fail(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = absl::StrCat("operation ", num_done_, ", seed ", options_.seed,
                          ": ", what);
}

bool ModelWalk::Agree(const char* what, std::optional<bool> predicted,
                      const std::function<absl::Status()>& call) {
  std::vector<uint64_t> before;
  if (predicted != true) before = SnapshotOf(*manager_);
  const absl::Status status = call();
  if (predicted.has_value() && *predicted != status.ok()) {
    Fail(absl::StrCat(what, " should ", *predicted ? "succeed" : "fail", ": ",
                      status.ToString()));
  }
  if (status.ok()) return true;
  ++num_refused_;
  if (predicted != true && SnapshotOf(*manager_) != before) {
    Fail(absl::StrCat(what,
                      " failed and changed something: ", status.ToString()));
  }
  return false;
}

ModelWalk::Sequence* ModelWalk::Pick(Kind kind) {
  for (int i = 0; i < 4 && !open_.empty(); ++i) {
    Sequence* sequence = open_[Random(open_.size())].get();
    if (sequence->kind == kind) return sequence;
  }
  return nullptr;
}

void ModelWalk::AddToken(Sequence& sequence, int32_t token) {
  const uint64_t before = sequence.kv.empty()
                              ? static_cast<uint64_t>(sequence.domain) + 1
                              : sequence.kv.back();
  sequence.tokens.push_back(token);
  sequence.kv.push_back(KvAfter(before, token));
  const auto size = static_cast<std::size_t>(options_.manager.block_size);
  if (sequence.kind != Kind::kSequence || sequence.tokens.size() % size != 0) {
    return;
  }
  const std::string salt(static_cast<std::size_t>(sequence.domain), 's');
  const BlockDigest parent =
      sequence.digests.empty()
          ? RootDigest({.salt = salt}, options_.manager.block_size)
          : sequence.digests.back();
  BlockDigest digest;
  DigestBlocks(parent,
               absl::MakeConstSpan(sequence.tokens)
                   .subspan(sequence.tokens.size() - size),
               options_.manager.block_size, absl::MakeSpan(&digest, 1));
  if (options_.digest_bits < 256) {
    const uint64_t mask = (uint64_t{1} << options_.digest_bits) - 1;
    digest = {.words = {digest.words[0] & mask, 0, 0, 0}};
  }
  sequence.digests.push_back(digest);
}

void ModelWalk::Truncate(Sequence& sequence, int64_t length) {
  sequence.tokens.resize(static_cast<std::size_t>(length));
  sequence.kv.resize(sequence.tokens.size());
  if (sequence.kind == Kind::kSequence) {
    sequence.digests.resize(
        static_cast<std::size_t>(length / options_.manager.block_size));
  }
  sequence.computed = std::min(sequence.computed, length);
  sequence.written = std::min(sequence.written, length);
  sequence.finished = std::min(sequence.finished, length);
  for (auto& [step, marked] : sequence.marks) {
    marked = std::min(marked, length);
  }
}

Prefix ModelWalk::PrefixOf(const Sequence& sequence) const {
  return {.digests = sequence.digests, .tokens = sequence.tokens};
}

void ModelWalk::CompareRow(const Sequence& sequence) {
  if (naive_ == nullptr) return;
  const auto row = manager_->Row(sequence.handle);
  if (!row.ok() || !std::equal(row->begin(), row->end(), sequence.row.begin(),
                               sequence.row.end())) {
    Fail("a row is not as predicted");
  }
}

void ModelWalk::CompareCounts() {
  if (naive_ == nullptr) return;
  const auto& pool = internal::BlockManagerAccess::State(*manager_).pool;
  if (pool.num_free() != std::ssize(naive_->free()) ||
      pool.num_idle() != std::ssize(naive_->idle()) ||
      pool.num_quarantined() != naive_->num_quarantined()) {
    Fail(absl::StrCat("free, cached, quarantined are ", pool.num_free(), ", ",
                      pool.num_idle(), ", ", pool.num_quarantined(),
                      "; predicted ", naive_->free().size(), ", ",
                      naive_->idle().size(), ", ", naive_->num_quarantined()));
  }
}

void ModelWalk::CheckAll() {
  const absl::Status audit = manager_->Audit();
  if (!audit.ok()) Fail(audit.ToString());
  if (naive_ == nullptr) return;
  const auto& pool = internal::BlockManagerAccess::State(*manager_).pool;
  const std::vector<int32_t> idle = pool.IdleBlocks();
  if (!std::equal(idle.begin(), idle.end(), naive_->idle().begin(),
                  naive_->idle().end())) {
    Fail("the order of eviction is not as predicted");
  }
  if (pool.FreeBlocks() != naive_->free()) {
    Fail("the order of reuse is not as predicted");
  }
  if (manager_->Statistics().evictions != naive_->evictions()) {
    Fail("evictions are not as predicted");
  }
}

void ModelWalk::Drain() {
  while (!open_.empty()) Release(open_.size() - 1);
  while (retired_ < submitted_ && failure_.empty()) {
    RunDevice();
    Retire();
  }
  // Copies of the step being built keep their sources until it retires.
  Submit();
  while (retired_ < submitted_ && failure_.empty()) {
    RunDevice();
    Retire();
  }
  CheckAll();
  const BlockStatistics statistics = manager_->Statistics();
  if (statistics.free + statistics.cached != statistics.num_blocks - 1 ||
      statistics.used != 0 || statistics.open != 0 ||
      statistics.reserved != 0 || statistics.pinned != 0) {
    Fail(absl::StrCat("after all was given back, ", statistics.used,
                      " blocks are used, ", statistics.quarantined,
                      " quarantined, ", statistics.reserved, " reserved"));
  }
}

}  // namespace paged::testing
