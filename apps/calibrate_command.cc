#include "apps/calibrate_command.h"

#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/cli.h"
#include "apps/flags.h"
#include "apps/out_file.h"
#include "benchmarks/calibrate.h"
#include "paged/internal/status_macros.h"
#include "paged/profile_file.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged calibrate: this machine's GPU as a profile for the planner

  paged calibrate --out=gpu.profile
  PAGED_PROFILE=gpu.profile paged bench

Measures bandwidth, how many SMs saturate it, and what launches and reductions
cost; the rest is scaled from an H200. The profile is text, a field per line.

Flags, with their defaults in brackets:
)";

const FlagTable& CalibrateFlagTable() {
  static const FlagTable* const kTable =
      new FlagTable{{"out", "FILE", "where the profile goes (the screen)"},
                    {"help", "", "this text"}};
  return *kTable;
}

}  // namespace

absl::StatusOr<int> CalibrateCommand(const std::vector<std::string>& args,
                                     std::ostream& out, std::ostream&) {
  PAGED_ASSIGN_OR_RETURN(const Flags flags,
                         Flags::Parse(CalibrateFlagTable(), args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(CalibrateFlagTable());
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(flags.RefusePositional("calibrate"));
  const std::string path = flags.Text("out").value_or("");
  if (!path.empty()) PAGED_RETURN_IF_ERROR(CheckWritable("out", path));
  PAGED_ASSIGN_OR_RETURN(const DeviceProfile profile,
                         benchmarks::CalibrateCuda());
  if (path.empty()) {
    out << ProfileText(profile);
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(WriteOutFile(path, ProfileText(profile)));
  out << "wrote " << path << "\n";
  return kExitPassed;
}

}  // namespace paged
