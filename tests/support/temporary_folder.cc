#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace paged::testing {

TemporaryFolder::TemporaryFolder()
    : path_(::testing::TempDir() + "/paged_XXXXXX") {
  EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
}

TemporaryFolder::~TemporaryFolder() {
  // What a program leaves running may be writing still.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace paged::testing
