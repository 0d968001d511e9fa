// The program itself: what a shell sees.
#include "tests/apps/program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged::testing {
namespace {

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program_)) {
      GTEST_SKIP() << "the program is not at " << program_;
    }
  }

  int ExitCodeOf(const std::string& args,
                 const std::string& output = "/dev/null") {
    const int status = std::system(
        absl::StrCat("env -u PAGED_VARIANT -u PAGED_SPLITS \"",
                     program_.string(), "\" ", args, " >", output, " 2>&1")
            .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const std::filesystem::path program_ = FindProgram();
};

TEST_F(ProgramTest, ExitsZeroWhenAllPasses) {
  const std::string file = DataPath("smollm2_decode.safetensors");
  EXPECT_EQ(ExitCodeOf(absl::StrCat("run \"", file,
                                    "\" --backend=cpu --layer=layer18")),
            0);
  EXPECT_EQ(ExitCodeOf("explain --device=h100"), 0);
  EXPECT_EQ(ExitCodeOf("--help"), 0);
}

TEST_F(ProgramTest, ExitsOneWhenACheckFails) {
  TensorFileBuilder builder = SmallLayer({.context_lens = {2}});
  builder.Add("layer0.expected", "F32", {1, 4, 8},
              std::vector<float>(32, 100.0f));
  const TemporaryFile file(builder.Build());
  EXPECT_EQ(ExitCodeOf(absl::StrCat("run ", file.path(), " --backend=cpu")), 1);
}

TEST_F(ProgramTest, ExitsTwoOnBadUsageAndInput) {
  EXPECT_EQ(ExitCodeOf(""), 2);
  EXPECT_EQ(ExitCodeOf("run"), 2);
  EXPECT_EQ(ExitCodeOf("run --no_such_flag x"), 2);
  const TemporaryFile file({'x', 'y', 'z'});
  EXPECT_EQ(ExitCodeOf(absl::StrCat("run ", file.path())), 2);
}

TEST_F(ProgramTest, ExitsThreeWhenItsOutputCannotBeWritten) {
  if (!std::ofstream("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_EQ(ExitCodeOf("explain --device=h200", "/dev/full"), 3);
  EXPECT_EQ(ExitCodeOf("--help", "/dev/full"), 3);
  // Wrong usage stays that.
  EXPECT_EQ(ExitCodeOf("walk", "/dev/full"), 2);
}

}  // namespace
}  // namespace paged::testing
