// Runs the variants of one layer, each on a backend that has it.
#ifndef PAGED_APPS_LAYER_RUNNER_H_
#define PAGED_APPS_LAYER_RUNNER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "apps/layer.h"
#include "apps/paged_layer.h"
#include "apps/reference.h"
#include "apps/run_flags.h"
#include "apps/run_report.h"
#include "paged/backend.h"
#include "paged/options.h"

namespace paged {

// The CPU always; CUDA when it was not ruled out and there is a GPU.
struct Backends {
  std::unique_ptr<Backend> cpu;
  std::unique_ptr<Backend> cuda;
  std::string note;  // why there is no CUDA, when somebody may wonder

  // Unavailable when CUDA was demanded, and there is none.
  static absl::StatusOr<Backends> Make(BackendChoice choice);
};

struct LayerRun {
  RunRow row;
  std::string note;    // why another backend than asked for; may be empty
  std::string reason;  // the cost model's, when it decided; may be empty
};

class LayerRunner {
 public:
  // All must outlive the runner.
  LayerRunner(const Layer& layer, const RunRequest& request,
              Backends& backends);

  // Plans, and allocates nothing of the layer's size. Errors of planning.
  absl::Status CanPlan(const DecodeOptions& options) const;

  // Plans, runs, times and checks. Errors of planning and running.
  absl::StatusOr<LayerRun> Run(const DecodeOptions& options);

 private:
  struct Placed {
    Backend* backend;
    DecodePlan plan;
    std::string note;
  };
  absl::StatusOr<Placed> Place(const DecodeOptions& options) const;
  absl::StatusOr<Placed> PlaceOn(Backend& backend,
                                 const DecodeOptions& options) const;
  // The layer in a backend's memory, paged when it is first asked for.
  absl::StatusOr<PagedLayer*> PagedFor(const Backend& backend);
  void ComputeAnswers();
  Accuracy Check(const Answer& answer) const;

  const Layer& layer_;
  const RunRequest& request_;
  Backends& backends_;
  // In each memory that was needed so far.
  std::optional<PagedLayer> on_cpu_;
  std::optional<PagedLayer> on_cuda_;
  std::optional<Answer> reference_;
  Answer expected_;  // the file's; empty where it has none
};

}  // namespace paged

#endif  // PAGED_APPS_LAYER_RUNNER_H_
