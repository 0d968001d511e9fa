#include "benchmarks/bench_flags.h"

#include <cstdio>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paged::benchmarks {
namespace {

constexpr char kUsage[] =
    R"(decode_benchmark [--mode=rows|cliffs|sweep|merge] [--backend=auto|cpu|cuda]
                 [--commit=HASH] [--kernels_core=HASH] [--kernels_cuda=HASH]
                 [--sweep_out=FILE] [--sweep_filter=TEXT] [--merge_into=FILE --merge_from=FILE]
                 [--benchmark_...]

rows   measures every shape (of --benchmark_filter), one row per variant and
       cache state ("auto_invariant" is the dispatch's choice with batch
       invariance), and what plans and launches cost the host;
       --benchmark_out=FILE writes the record
cliffs measures batches of 1 to 256, and blocks of every size, as the dispatch
       chooses, and says where a byte takes longest beside its neighbours
sweep  times every instance with every split and chunk count on the GPU, as
       CSV; of the shapes whose name contains --sweep_filter
merge  puts the rows of one record into another

The hashes are git's for this checkout unless they are given.

Exit code: 0 good, 1 a row failed, 2 bad usage or input, 3 no device.
)";

}  // namespace

std::optional<int> ParseFlags(int& argc, char** argv, BenchFlags& flags) {
  const std::map<absl::string_view, std::string*> known = {
      {"mode", &flags.mode},
      {"backend", &flags.backend},
      {"commit", &flags.commit},
      {"kernels_core", &flags.kernels_core},
      {"kernels_cuda", &flags.kernels_cuda},
      {"sweep_out", &flags.sweep_out},
      {"sweep_filter", &flags.sweep_filter},
      {"merge_into", &flags.merge_into},
      {"merge_from", &flags.merge_from}};
  int num_left = 1;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    const auto equals = argument.find('=');
    const bool is_flag =
        argument.substr(0, 2) == "--" && equals != absl::string_view::npos;
    const auto flag =
        is_flag ? known.find(argument.substr(2, equals - 2)) : known.end();
    if (flag == known.end()) {
      argv[num_left++] = argv[i];
    } else {
      *flag->second = std::string(argument.substr(equals + 1));
    }
  }
  argc = num_left;
  return std::nullopt;
}

std::string CommandLine(int argc, char** argv) {
  std::string text = "decode_benchmark";
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (absl::StartsWith(argument, "--benchmark_out")) continue;
    absl::StrAppend(&text, " ", argument);
  }
  return text;
}

}  // namespace paged::benchmarks
