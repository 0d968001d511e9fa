#include "paged/internal/run_checks.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "paged/internal/lower.h"
#include "paged/internal/rules.h"

namespace paged::internal {
namespace {

// A cache line, so that two workspaces never share one.
constexpr std::size_t kCpuWorkspaceAlignment = 64;

}  // namespace

absl::Status CheckPlanDevice(const DecodePlan& plan,
                             const DeviceProfile& profile) {
  if (plan.device_fingerprint == FingerprintOf(profile)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("plan must be made for this device, ", profile.name,
                   "; got a plan for another"));
}

absl::Status CheckAligned(const char* field, const void* pointer,
                          std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address % alignment == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " must be aligned to ",
                                                 alignment, " bytes; got 0x",
                                                 absl::Hex(address)));
}

absl::Status CheckMemory(const char* field, std::size_t needed,
                         const void* data, std::size_t bytes, DeviceKind kind) {
  if (needed == 0) return absl::OkStatus();
  if (bytes < needed || data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(field, " must hold ", needed, " bytes; got ",
                     data == nullptr ? 0 : bytes));
  }
  return CheckAligned(
      field, data,
      kind == DeviceKind::kCuda ? kWorkspaceAlignment : kCpuWorkspaceAlignment);
}

absl::Status CheckWorkspace(const DecodePlan& plan, const Workspace& workspace,
                            DeviceKind kind) {
  return CheckMemory("workspace", plan.workspace_bytes, workspace.data,
                     workspace.bytes, kind);
}

absl::Status ToStatus(const TableFault& fault, const DecodeShape& shape) {
  const std::string row = absl::StrCat("[", fault.row, "]");
  switch (fault.kind) {
    case TableFaultKind::kNone:
      return absl::OkStatus();
    case TableFaultKind::kContextLen:
      return CheckRange(absl::StrCat("context_lens", row).c_str(), fault.value,
                        0, shape.max_context_len);
    case TableFaultKind::kQueryStart:
      return CheckAtLeast(absl::StrCat("query_offsets", row).c_str(),
                          fault.value, 0);
    case TableFaultKind::kQueryTokens:
      return CheckRange(absl::StrCat("query_offsets[", fault.row + 1,
                                     "] - query_offsets", row)
                            .c_str(),
                        fault.value, 0, shape.q_len);
    case TableFaultKind::kBlock:
      break;
  }
  return CheckRange(
      absl::StrCat("block_tables", row, "[", fault.column, "]").c_str(),
      fault.value, 0, shape.num_blocks - 1);
}

absl::Status ToStatus(ThrustStatus status) {
  switch (status) {
    case ThrustStatus::kOk:
      return absl::OkStatus();
    case ThrustStatus::kWorkspaceTooSmall:
      return absl::ResourceExhaustedError(
          "workspace is too small for what Thrust asked for");
    case ThrustStatus::kCapturing:
      return absl::FailedPreconditionError(
          "variant thrust cannot be captured into a graph");
    case ThrustStatus::kNotBuilt:
      return absl::UnimplementedError(
          "variant thrust is not in this build: Thrust's headers were not "
          "found");
    case ThrustStatus::kDeviceError:
      break;
  }
  return absl::InternalError("variant thrust failed");
}

}  // namespace paged::internal
