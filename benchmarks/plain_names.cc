#include "benchmarks/plain_names.h"

namespace paged::benchmarks {
namespace {

using Runs = std::vector<benchmark::BenchmarkReporter::Run>;

Runs WithoutSuffixes(Runs runs) {
  for (auto& run : runs) {
    run.run_name.iterations.clear();
    run.run_name.time_type.clear();
  }
  return runs;
}

}  // namespace

void PlainNamesConsole::ReportRuns(const std::vector<Run>& runs) {
  ConsoleReporter::ReportRuns(WithoutSuffixes(runs));
}

void PlainNamesJson::ReportRuns(const std::vector<Run>& runs) {
  JSONReporter::ReportRuns(WithoutSuffixes(runs));
}

}  // namespace paged::benchmarks
