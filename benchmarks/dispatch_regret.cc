// Measures what the dispatcher's choice costs against the best forced variant
// and split count, over the shapes of regret_shapes.cc. --help says how.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "benchmarks/record_file.h"
#include "benchmarks/regret.h"
#include "paged/cuda_backend.h"

namespace paged::benchmarks {
namespace {

constexpr char kUsage[] =
    R"(dispatch_regret --out=FILE [--filter=TEXT] [--commit=HASH]
                [--kernels_core=HASH] [--kernels_cuda=HASH]

Times the automatic choice and everything that can be forced instead, on a GPU
with cold caches, and writes the record. --filter keeps the shapes whose name
contains TEXT; a record that is committed has them all. The hashes are git's for
this checkout unless they are given.

Exit code: 0 good, 2 bad usage or input, 3 no device.
)";

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "dispatch_regret: %s\n",
               std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 3;
}

void PrintRow(const RegretRow& row) {
  const TimedPlan& best = row.best();
  std::printf("%6.3f  %9.2f us  %-44s %s x%d -> %s x%d\n", row.regret(),
              row.automatic.time_us, row.shape.name.c_str(),
              std::string(NameOf(row.automatic.plan.partition)).c_str(),
              row.automatic.plan.num_splits,
              std::string(NameOf(best.plan.partition)).c_str(),
              best.plan.num_splits);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  std::string out, filter;
  RegretContext context;
  const struct {
    absl::string_view name;
    std::string* value;
  } flags[] = {{"--out=", &out},
               {"--filter=", &filter},
               {"--commit=", &context.commit},
               {"--kernels_core=", &context.kernels_core},
               {"--kernels_cuda=", &context.kernels_cuda}};
  context.command = "dispatch_regret";
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    bool is_known = false;
    for (const auto& flag : flags) {
      if (is_known || !absl::ConsumePrefix(&argument, flag.name)) continue;
      *flag.value = std::string(argument);
      is_known = true;
    }
    if (!is_known) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat("unknown argument ", argv[i], "; see --help")));
    }
    // Paths of one machine say nothing on another.
    if (!absl::StartsWith(argv[i], "--out=")) {
      absl::StrAppend(&context.command, " ", argv[i]);
    }
  }
  std::ofstream file(out);
  if (!file) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("--out must be a file that can be written; got ", out)));
  }
  if (context.commit.empty()) context.commit = CommitHash();
  if (context.kernels_core.empty()) {
    context.kernels_core = TreeHash("kernels/core");
  }
  if (context.kernels_cuda.empty()) {
    context.kernels_cuda = TreeHash("kernels/cuda");
  }
  context.driver = DriverVersion();
  if (const auto backend = MakeCudaBackend(); backend.ok()) {
    context.device = (*backend)->profile().name;
  }

  std::vector<RegretShape> shapes;
  for (RegretShape& shape : RegretShapes()) {
    if (absl::StrContains(shape.name, filter)) shapes.push_back(shape);
  }
  std::vector<RegretRow> rows;
  const absl::Status status = MeasureRegret(shapes, [&](const RegretRow& row) {
    PrintRow(row);
    rows.push_back(row);
  });
  if (!status.ok()) return Fail(status);
  file << RegretJson(context, rows);
  file.close();
  if (!file) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("--out could not be written: ", out)));
  }
  return 0;
}

}  // namespace
}  // namespace paged::benchmarks

int main(int argc, char** argv) { return paged::benchmarks::Main(argc, argv); }
