#include "apps/run_command.h"

#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/cli.h"
#include "apps/decode_flags.h"
#include "apps/layer.h"
#include "apps/layer_runner.h"
#include "apps/run_flags.h"
#include "apps/run_report.h"
#include "apps/safetensors.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged run: computes the attention in a safetensors file, and checks it

  paged run tests/data/smollm2_decode.safetensors --variant=all

FILE holds context_lens and, per layer, layerN.query, layerN.key and
layerN.value; layerN.expected and layerN.expected_lse are compared when they
are there. Every row is compared with a float64 reference as well.

Flags, with their defaults in brackets:
)";

// Prints as the runs go, each note and each reason once in a row.
class Printer {
 public:
  Printer(const RunRequest& request, std::ostream& out, std::ostream& err)
      : is_json_(request.is_json), out_(out), err_(err) {}

  void Start(const RunRequest& request, const std::vector<Layer>& layers) {
    if (!is_json_) out_ << DescribeInput(request, layers) << HeaderLine();
  }

  void Note(const std::string& note) {
    if (note.empty() || note == last_note_) return;
    last_note_ = note;
    out_.flush();
    err_ << "paged run: " << note << "\n";
  }

  void Print(const LayerRun& run) {
    Note(run.note);
    ++num_rows_;
    num_failures_ += run.row.accuracy.pass ? 0 : 1;
    out_ << (is_json_ ? JsonLine(run.row) : TextLine(run.row));
    if (!run.row.accuracy.pass) {
      Note(absl::StrCat(run.row.layer, " ",
                        std::string(NameOf(run.row.plan.variant)), ": ",
                        run.row.accuracy.failure));
    }
    if (!is_json_ && !run.reason.empty() && run.reason != last_reason_) {
      last_reason_ = run.reason;
      out_ << "          " << run.reason << "\n";
    }
    out_.flush();
  }

  // Returns the exit code.
  int Finish() {
    if (!is_json_) {
      out_ << "\n"
           << num_rows_ - num_failures_ << " of " << num_rows_
           << " rows pass: every sequence within the tolerance in relative L2, "
              "every lse within 1e-4.\n";
    }
    return num_failures_ == 0 ? kExitPassed : kExitCheckFailed;
  }

 private:
  bool is_json_;
  std::ostream& out_;
  std::ostream& err_;
  int num_rows_ = 0;
  int num_failures_ = 0;
  std::string last_note_;
  std::string last_reason_;
};

bool MayBeLeftOut(const RunRequest& request, const DecodeOptions& options,
                  const absl::Status& status) {
  return request.is_all && options.variant == Variant::kThrust &&
         status.code() == absl::StatusCode::kUnimplemented;
}

absl::Status RunLayer(const Layer& layer, const RunRequest& request,
                      Backends& backends, Printer& printer) {
  LayerRunner runner(layer, request, backends);
  for (const DecodeOptions& options : request.runs) {
    const absl::StatusOr<LayerRun> run = runner.Run(options);
    if (MayBeLeftOut(request, options, run.status())) {
      printer.Note(
          absl::StrCat("thrust is left out: ", run.status().message()));
      continue;
    }
    PAGED_RETURN_IF_ERROR(run.status());
    printer.Print(*run);
  }
  return absl::OkStatus();
}

// The layers that were asked for; errors name the file.
absl::StatusOr<std::vector<Layer>> LayersOf(const TensorFile& file,
                                            const RunRequest& request) {
  absl::StatusOr<std::vector<Layer>> layers = FindLayers(file, request.layer);
  if (layers.ok()) return layers;
  return absl::Status(
      layers.status().code(),
      absl::StrCat(Printable(request.path), ": ", layers.status().message()));
}

// What cannot be planned is refused before anything is printed, or allocated in
// the sizes that a file claims.
absl::Status CheckPlans(const std::vector<Layer>& layers,
                        const RunRequest& request, Backends& backends) {
  for (const Layer& layer : layers) {
    const LayerRunner runner(layer, request, backends);
    for (const DecodeOptions& options : request.runs) {
      const absl::Status status = runner.CanPlan(options);
      if (!MayBeLeftOut(request, options, status)) {
        PAGED_RETURN_IF_ERROR(status);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunCommand(const std::vector<std::string>& args,
                               std::ostream& out, std::ostream& err) {
  const FlagTable table = RunFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  PAGED_ASSIGN_OR_RETURN(const RunRequest request, RunRequestFrom(flags));
  // Bad variables are reported before a large file is read.
  for (const DecodeOptions& options : request.runs) {
    PAGED_RETURN_IF_ERROR(ResolveFlags(options).status());
  }
  PAGED_ASSIGN_OR_RETURN(const TensorFile file, TensorFile::Read(request.path));
  PAGED_ASSIGN_OR_RETURN(const std::vector<Layer> layers,
                         LayersOf(file, request));
  PAGED_ASSIGN_OR_RETURN(Backends backends, Backends::Make(request.backend));

  Printer printer(request, out, err);
  PAGED_RETURN_IF_ERROR(CheckPlans(layers, request, backends));
  printer.Note(backends.note);
  printer.Start(request, layers);
  for (const Layer& layer : layers) {
    PAGED_RETURN_IF_ERROR(RunLayer(layer, request, backends, printer));
  }
  return printer.Finish();
}

}  // namespace paged
