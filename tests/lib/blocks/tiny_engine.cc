#include "tests/lib/blocks/tiny_engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "paged/block_digest.h"
#include "paged/decode.h"

namespace paged::testing {
namespace {

constexpr int kWidth = 32;

void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "engine: %s\n", status.ToString().c_str());
  std::abort();
}

BlockManager MakeManager() {
  return BlockManager::Create({.num_blocks = TinyEngine::kBlocks,
                               .block_size = TinyEngine::kBlockSize,
                               .max_seqs = TinyEngine::kBatch,
                               .max_blocks_per_seq = kWidth,
                               .reuse = ReusePolicy::kAfterRetire})
      .value();
}

DecodeShape EngineShape() {
  return ModelShape(TinyEngine::kBatch, TinyEngine::kBlockSize,
                    TinyEngine::kBlocks, kWidth);
}

std::vector<BlockDigest> DigestsOf(const EngineSample& sample) {
  return DigestPrompt({}, sample.tokens, TinyEngine::kBlockSize);
}

}  // namespace

TinyEngine::TinyEngine(const TinyModel& model)
    : model_(model),
      backend_(MakeCpuBackend({.num_threads = 1})),
      manager_(MakeManager()),
      table_(DeviceTable::Create(manager_, *backend_,
                                 {.max_batch = kBatch, .max_entries = 16})
                 .value()),
      plan_(PlanDecode(EngineShape(), *backend_, ModelOptions()).value()),
      hidden_(kBatch) {
  // A row that is read before it was written makes everything NaN.
  const std::size_t elements = kBlocks * kBlockSize * kHeadDim;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    keys_[layer].resize(elements, std::numeric_limits<float>::quiet_NaN());
    values_[layer] = keys_[layer];
  }
}

void TinyEngine::Submit(EngineRequest request) {
  EngineSample sample;
  sample.tokens = request.prompt;
  sample.request = std::move(request);
  waiting_.push_back(std::move(sample));
}

void TinyEngine::Admit() {
  while (!waiting_.empty() && running_.size() < kBatch) {
    EngineSample& sample = waiting_.front();
    const std::vector<BlockDigest> digests = DigestsOf(sample);
    const SequenceRequest request{
        .num_tokens = static_cast<int64_t>(sample.tokens.size()),
        .prefix = {.digests = digests},
        .lookahead_tokens = 1};
    if (!manager_.CanAdmit(request)) return;
    const OpenedSequence opened = manager_.Open(request).value();
    // One token a step: the slots after the first come as they are needed.
    CheckOk(manager_.TrimTo(opened.handle, opened.cached_tokens + 1));
    counts_.cached_tokens += opened.cached_tokens;
    Running running;
    running.handle = opened.handle;
    running.num_fed = opened.cached_tokens;
    running.has_slot = true;
    sample.computed.resize(sample.tokens.size());
    sample.has_computed.resize(sample.tokens.size());
    running.sample = std::move(sample);
    waiting_.pop_front();
    running_.push_back(std::move(running));
  }
}

void TinyEngine::Preempt(std::size_t index) {
  Running& running = running_[index];
  CheckOk(manager_.Release(running.handle).status());
  waiting_.push_front(std::move(running.sample));
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  ++counts_.preempted;
}

// The newest give way to the oldest.
void TinyEngine::GiveSlots() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    while (!running_[i].has_slot) {
      const absl::Status status = manager_.Append(running_[i].handle, 1);
      if (status.ok()) {
        running_[i].has_slot = true;
        break;
      }
      if (!absl::IsResourceExhausted(status)) CheckOk(status);
      Preempt(running_.size() - 1);
      if (i >= running_.size()) return;
    }
  }
}

int32_t TinyEngine::TokenOf(const Running& running) const {
  const int32_t token =
      running.sample.tokens[static_cast<std::size_t>(running.num_fed)];
  return running.is_draft ? (token + 1) % kVocabulary : token;
}

void TinyEngine::RunModel() {
  std::vector<SequenceHandle> batch;
  for (const Running& running : running_) batch.push_back(running.handle);
  CheckOk(table_.Update(manager_, batch, {}, nullptr));
  for (std::size_t i = 0; i < running_.size(); ++i) {
    hidden_[i] = model_.Embed(TokenOf(running_[i]), running_[i].num_fed);
  }
  std::vector<Hidden> query(kBatch), attention(kBatch);
  std::vector<HeadVector> key(kBatch), value(kBatch);
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    for (std::size_t i = 0; i < running_.size(); ++i) {
      query[i] = model_.Query(layer, hidden_[i]);
      key[i] = model_.Key(layer, hidden_[i]);
      value[i] = model_.Value(layer, hidden_[i]);
    }
    void* caches[] = {keys_[at].data(), values_[at].data()};
    CheckOk(backend_->CopyBlocks({.num_kv_heads = 1,
                                  .head_dim = kHeadDim,
                                  .block_size = kBlockSize,
                                  .num_blocks = kBlocks,
                                  .dtype = DType::kF32,
                                  .caches = caches,
                                  .copies = manager_.copies()},
                                 nullptr));
    CheckOk(backend_->AppendKv({.num_tokens = kBatch,
                                .num_kv_heads = 1,
                                .head_dim = kHeadDim,
                                .block_size = kBlockSize,
                                .num_blocks = kBlocks,
                                .dtype = DType::kF32,
                                .key = key.data(),
                                .value = value.data(),
                                .key_cache = keys_[at].data(),
                                .value_cache = values_[at].data(),
                                .slot_mapping = table_.slot_mapping()},
                               nullptr));
    CheckOk(backend_->Run(plan_,
                          {.shape = EngineShape(),
                           .query = query.data(),
                           .key_cache = keys_[at].data(),
                           .value_cache = values_[at].data(),
                           .block_tables = table_.block_tables(),
                           .context_lens = table_.context_lens(),
                           .output = attention.data()},
                          {}));
    for (std::size_t i = 0; i < running_.size(); ++i) {
      hidden_[i] = model_.Next(layer, hidden_[i], attention[i]);
    }
  }
}

void TinyEngine::CommitComputed(const Running& running) {
  const std::vector<BlockDigest> digests = DigestsOf(running.sample);
  CheckOk(
      manager_.Commit(running.handle, running.num_fed, {.digests = digests}));
}

bool TinyEngine::Advance(Running& running, const Hidden& x) {
  EngineSample& sample = running.sample;
  running.has_slot = false;
  if (running.is_draft) {
    CheckOk(manager_.RollbackTo(running.handle, running.num_fed));
    running.is_draft = false;
    return true;
  }
  const auto at = static_cast<std::size_t>(running.num_fed);
  if (sample.has_computed[at] && sample.computed[at] != x) std::abort();
  sample.computed[at] = x;
  sample.has_computed[at] = true;
  ++running.num_fed;
  ++counts_.tokens;
  CommitComputed(running);
  if (at + 1 < sample.tokens.size()) return true;
  if (sample.num_generated() >= sample.request.num_generated ||
      sample.num_generated() >= sample.request.cancelled_after) {
    return false;
  }
  const int32_t offset = sample.num_generated() == 0 ? sample.sample : 0;
  sample.tokens.push_back((model_.Predict(x) + offset) % kVocabulary);
  sample.computed.emplace_back();
  sample.has_computed.push_back(false);
  running.is_draft = sample.request.drafts && random_() % 3 == 0;
  counts_.drafts += running.is_draft ? 1 : 0;
  return true;
}

// Those that have just computed their prompt: the others of their samples go on
// from the same blocks, or, where there is no room, wait with the same prompt.
void TinyEngine::ForkSamples() {
  const std::size_t num_parents = running_.size();
  for (std::size_t i = 0; i < num_parents; ++i) {
    const int samples = running_[i].sample.request.num_samples;
    const EngineSample& parent = running_[i].sample;
    if (samples == 1 || parent.sample != 0 || parent.num_generated() != 1) {
      continue;
    }
    running_[i].sample.request.num_samples = 1;
    for (int sample = 1; sample < samples; ++sample) {
      EngineSample child = running_[i].sample;
      child.sample = sample;
      child.tokens.back() = (child.tokens.back() + sample) % kVocabulary;
      const absl::StatusOr<SequenceHandle> handle =
          manager_.Fork(running_[i].handle);
      if (!handle.ok()) {
        if (!absl::IsResourceExhausted(handle.status())) {
          CheckOk(handle.status());
        }
        waiting_.push_back(std::move(child));
        continue;
      }
      Running running;
      running.handle = *handle;
      running.num_fed = running_[i].num_fed;
      running.sample = std::move(child);
      running_.push_back(std::move(running));
      ++counts_.forked;
    }
  }
}

std::vector<EngineSample> TinyEngine::Step() {
  Admit();
  GiveSlots();
  RunModel();
  // The device is always one step behind what the host has submitted.
  const uint64_t step = manager_.SubmitStep().value().id;
  if (step > 1) CheckOk(manager_.RetireStep(step - 1));
  last_step_ = step;
  ++counts_.steps;

  std::vector<EngineSample> ended;
  std::vector<Running> going_on;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Running& running = running_[i];
    if (Advance(running, hidden_[i])) {
      going_on.push_back(std::move(running));
      continue;
    }
    CheckOk(manager_.Release(running.handle).status());
    const EngineSample& sample = running.sample;
    if (sample.num_generated() < sample.request.num_generated) {
      ++counts_.cancelled;
    } else {
      ++counts_.finished;
    }
    ended.push_back(std::move(running.sample));
  }
  running_ = std::move(going_on);
  ForkSamples();
  return ended;
}

void TinyEngine::RetireAll() { CheckOk(manager_.RetireStep(last_step_)); }

}  // namespace paged::testing
