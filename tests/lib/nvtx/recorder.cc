// A profiler for the test: what NVTX loads by NVTX_INJECTION64_PATH. It keeps
// the names of ranges, "<" for each end.
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string& Log() {
  static auto* const log = new std::string;
  return *log;
}

int Push(const char* name) {
  Log() += name;
  return 0;
}

int Pop() {
  Log() += "<";
  return 0;
}

}  // namespace

extern "C" {

// NOLINTNEXTLINE: NVTX wants this name.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(
                                  NVTX_CB_MODULE_CORE, &table, &size) == 0) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] =
      reinterpret_cast<NvtxFunctionPointer>(&Push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&Pop);
  return 1;
}

__attribute__((visibility("default"))) const char* RecordedRanges() {
  return Log().c_str();
}
}
