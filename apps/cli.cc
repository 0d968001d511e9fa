#include "apps/cli.h"

#include <exception>
#include <new>
#include <ostream>
#include <stdexcept>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/explain_command.h"
#include "apps/flags.h"
#include "apps/run_command.h"

namespace paged {
namespace {

constexpr char kUsage[] =
    R"(paged: attention of one decode step against a paged KV cache

  paged run FILE [flags]     computes the attention in a safetensors file and
                             checks it
  paged explain [flags]      says which kernel would run a shape, and why
  paged --version
  paged COMMAND --help       flags of a command, and an example

Exit codes: 0 good, 1 a check failed, 2 bad usage or input, 3 no device, no
memory, a CUDA error, or an output that cannot be written.
)";

using Command = absl::StatusOr<int> (*)(const std::vector<std::string>&,
                                        std::ostream&, std::ostream&);

Command FindCommand(const std::string& name) {
  if (name == "run") return &RunCommand;
  if (name == "explain") return &ExplainCommand;
  return nullptr;
}

absl::StatusOr<int> Dispatch(const std::vector<std::string>& args,
                             std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    return absl::InvalidArgumentError(
        "a command is needed: run or explain; --help says more");
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    out << kUsage;
    return kExitPassed;
  }
  if (name == "--version") {
    out << "paged " << PAGED_VERSION << "\n";
    return kExitPassed;
  }
  const Command command = FindCommand(name);
  if (command == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a command must be run or explain; got ", Printable(name)));
  }
  return command({args.begin() + 1, args.end()}, out, err);
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
