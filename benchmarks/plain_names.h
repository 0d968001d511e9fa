// Reporters that print rows by the names they were given, without what Google
// Benchmark adds about iterations and clocks: other programs look them up.
#ifndef PAGED_BENCHMARKS_PLAIN_NAMES_H_
#define PAGED_BENCHMARKS_PLAIN_NAMES_H_

#include <benchmark/benchmark.h>

#include <vector>

namespace paged::benchmarks {

class PlainNamesConsole : public benchmark::ConsoleReporter {
 public:
  PlainNamesConsole() : ConsoleReporter(OO_Tabular) {}
  void ReportRuns(const std::vector<Run>& runs) override;
};

class PlainNamesJson : public benchmark::JSONReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override;
};

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_PLAIN_NAMES_H_
