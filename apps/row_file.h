// A CSV file of rows that is valid after every write, so that whatever ends the
// program leaves what was measured.
#ifndef PAGED_APPS_ROW_FILE_H_
#define PAGED_APPS_ROW_FILE_H_

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/bench_row.h"

namespace paged {

enum class ExistingRows {
  kRefuse,   // a file that is there is an error
  kKeep,     // and added to
  kDiscard,  // and replaced
};

class RowFile {
 public:
  // InvalidArgument for a file that is there (kRefuse), holds no rows of this
  // program (kKeep), or cannot be written.
  static absl::StatusOr<RowFile> Open(const std::string& path,
                                      ExistingRows existing);

  bool Has(const BenchRow& row) const { return keys_.contains(KeyOf(row)); }
  // Those that the file lacks, as one write. DataLoss when it fails.
  absl::Status Add(const std::vector<BenchRow>& rows);
  int num_rows() const { return static_cast<int>(keys_.size()); }

 private:
  std::string path_;
  std::ofstream stream_;
  std::set<std::string> keys_;
};

// All of a file, as RowFile reads it. NotFound, InvalidArgument; both name it.
absl::StatusOr<std::vector<BenchRow>> ReadRows(const std::string& path);

}  // namespace paged

#endif  // PAGED_APPS_ROW_FILE_H_
