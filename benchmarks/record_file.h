// Records: the context of a run, and the JSON files that keep its rows.
#ifndef PAGED_BENCHMARKS_RECORD_FILE_H_
#define PAGED_BENCHMARKS_RECORD_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace paged::benchmarks {

// The tree of a folder as git names it (`git rev-parse HEAD:<folder>`), with
// "-dirty" when the folder differs from it; "unknown" outside a checkout.
std::string TreeHash(const std::string& folder);

// `git rev-parse HEAD`, with "-dirty" when tracked files other than records
// differ from it; "unknown" outside a checkout.
std::string CommitHash();

// The processor's model as Linux names it; "unknown" elsewhere.
std::string ProcessorModel();

// The version of the kernel driver; "unknown" where there is none.
std::string DriverVersion();

// Puts the rows of `from` into `into`, in place of rows of the same name, and
// takes over its context. Rows of `into` that were measured on other kernels
// are dropped. Creates `into` when there is none; replaces it as a whole or
// not at all. InvalidArgument for a file that is no record.
absl::Status MergeRecords(const std::string& into, const std::string& from);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_RECORD_FILE_H_
