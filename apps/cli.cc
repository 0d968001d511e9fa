#include "apps/cli.h"

#include <exception>
#include <new>
#include <optional>
#include <ostream>
#include <stdexcept>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/bench_command.h"
#include "apps/blocks_command.h"
#include "apps/calibrate_command.h"
#include "apps/explain_command.h"
#include "apps/flags.h"
#include "apps/report_command.h"
#include "apps/run_command.h"
#include "apps/scan_command.h"
#include "apps/trace_command.h"
#include "apps/version.h"
#include "apps/words.h"

namespace paged {
namespace {

using CommandFunction = absl::StatusOr<int> (*)(const std::vector<std::string>&,
                                                std::ostream&, std::ostream&);

struct Command {
  const char* name;
  const char* usage;
  const char* about;
  CommandFunction run;
};

constexpr Command kCommands[] = {
    {"run", "run FILE [flags]",
     "computes the attention in a safetensors file and checks it", &RunCommand},
    {"explain", "explain [flags]",
     "says which kernel would run a shape, and why", &ExplainCommand},
    {"bench", "bench [flags]", "times one shape in several ways, side by side",
     &BenchCommand},
    {"scan", "scan --csv=FILE [flags]", "measures many shapes into a CSV file",
     &ScanCommand},
    {"calibrate", "calibrate [flags]",
     "measures the GPU for the planner ($PAGED_PROFILE)", &CalibrateCommand},
    {"blocks", "blocks replay FILE [flags]",
     "replays a log of the block manager, or made-up traffic", &BlocksCommand},
    {"trace", "trace --out=FILE [flags]",
     "one decode step, watched, for ui.perfetto.dev", &TraceCommand},
    {"report", "report --out=FILE [flags]",
     "one page that shows what this machine does, and why", &ReportCommand},
};

const Command* FindCommand(const std::string& name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  return names;
}

std::string Usage() {
  std::string text =
      "paged: attention of one decode step against a paged KV cache\n\n";
  for (const Command& command : kCommands) {
    absl::StrAppendFormat(&text, "  paged %-26s %s\n", command.usage,
                          command.about);
  }
  return text +
         R"(  paged --version                  version, commit, CUDA, kernels
  paged COMMAND --help             flags of a command, and an example

Exit codes: 0 good, 1 a check failed, 2 bad usage or input, 3 no device, no
memory, a CUDA error, or an output that fails on the way, 130 interrupted.
)";
}

absl::Status UnknownCommand(const std::string& name) {
  const std::vector<std::string> names = CommandNames();
  const std::optional<std::string> nearest = NearestOf(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "a command must be ", AnyOf(names), "; got ", Printable(name),
      nearest.has_value() ? absl::StrCat("; did you mean ", *nearest, "?")
                          : ""));
}

absl::StatusOr<int> Dispatch(const std::vector<std::string>& args,
                             std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a command is needed: ", AnyOf(CommandNames()), "; --help says more"));
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    out << Usage();
    return kExitPassed;
  }
  if (name == "--version") {
    out << VersionText();
    return kExitPassed;
  }
  const Command* command = FindCommand(name);
  if (command == nullptr) return UnknownCommand(name);
  return command->run({args.begin() + 1, args.end()}, out, err);
}

absl::StatusOr<int> DispatchWithoutThrowing(
    const std::vector<std::string>& args, std::ostream& out,
    std::ostream& err) {
  try {
    return Dispatch(args, out, err);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace

int ExitCodeOf(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
      return kExitBadInput;
    default:
      return kExitNoDevice;
  }
}

int RunMain(const std::vector<std::string>& args, std::ostream& out,
            std::ostream& err) {
  absl::StatusOr<int> exit_code = DispatchWithoutThrowing(args, out, err);
  out.flush();
  // What nobody can read has shown nothing.
  if (exit_code.ok() && !out) {
    exit_code = absl::DataLossError("the output cannot be written");
  }
  if (exit_code.ok()) return *exit_code;
  const bool has_command =
      !args.empty() && FindCommand(args.front()) != nullptr;
  err << "paged" << (has_command ? absl::StrCat(" ", args.front()) : "") << ": "
      << exit_code.status().message() << "\n";
  return ExitCodeOf(exit_code.status());
}

}  // namespace paged
