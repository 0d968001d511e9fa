// Random damage to files. Nothing here may crash, whatever the answer; a
// sanitizer build makes the claim strong.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "apps/layer.h"
#include "apps/safetensors.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged {
namespace {

using ::paged::testing::CliResult;
using ::paged::testing::RunCli;
using ::paged::testing::SmallLayer;
using ::paged::testing::TemporaryFile;

// Bytes that JSON gives a meaning to, so that mutants get past the lexer.
constexpr char kTokens[] = "{}[]\",:-0123456789eE.\\nulltrufa \x00\xff";

void Mutate(std::mt19937& random, std::size_t limit, std::vector<char>& bytes) {
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::size_t at = below(std::min(limit, bytes.size()));
  const auto place = bytes.begin() + static_cast<int64_t>(at);
  switch (below(5)) {
    case 0:
      *place = static_cast<char>(random());
      break;
    case 1:
      *place = kTokens[below(sizeof(kTokens) - 1)];
      break;
    case 2:
      bytes.erase(place);
      break;
    case 3:
      bytes.insert(place, kTokens[below(sizeof(kTokens) - 1)]);
      break;
    case 4: {
      // A copy of another place: repeated names, swapped numbers.
      const std::size_t from = below(std::min(limit, bytes.size()) - 16);
      const std::size_t count = std::min(bytes.size() - at, 1 + below(15));
      const std::vector<char> copy(
          bytes.begin() + static_cast<int64_t>(from),
          bytes.begin() + static_cast<int64_t>(from + count));
      std::copy(copy.begin(), copy.end(), place);
      break;
    }
  }
}

// Reads every byte that a parsed file claims to have.
int64_t Touch(const TensorFile& file) {
  int64_t sum = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    for (std::size_t i = 0; i < tensor.num_bytes; ++i) sum += tensor.data[i];
  }
  const auto layers = FindLayers(file, std::nullopt);
  return sum + (layers.ok() ? static_cast<int64_t>(layers->size()) : 0);
}

TEST(SafetensorsFuzzTest, SurvivesDamagedHeaders) {
  const std::vector<char> whole = SmallLayer({}).Build();
  const std::size_t header_end = 8 + static_cast<unsigned char>(whole[0]) +
                                 256u * static_cast<unsigned char>(whole[1]);
  std::mt19937 random(20240607);
  int num_refused = 0;
  int64_t sum = 0;
  for (int mutant = 0; mutant < 2000; ++mutant) {
    std::vector<char> bytes = whole;
    const int num_edits = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < num_edits; ++i) Mutate(random, header_end, bytes);
    const auto file = TensorFile::Parse(std::move(bytes));
    if (file.ok()) {
      sum += Touch(*file);
    } else {
      ++num_refused;
      EXPECT_FALSE(file.status().message().empty());
    }
  }
  // Damage to names passes; most damage does not.
  EXPECT_GT(num_refused, 1000);
  RecordProperty("checksum", std::to_string(sum));
}

TEST(SafetensorsFuzzTest, EndsWithACodeAndALineOnDamagedFiles) {
  const std::vector<char> whole = SmallLayer({}).Build();
  std::mt19937 random(7);
  for (int mutant = 0; mutant < 100; ++mutant) {
    std::vector<char> bytes = whole;
    Mutate(random, bytes.size(), bytes);
    const TemporaryFile file(bytes);
    const CliResult result =
        RunCli({"run", file.path(), "--backend=cpu", "--json"});
    EXPECT_GE(result.exit_code, 0);
    EXPECT_LE(result.exit_code, 2);
    if (result.exit_code != 2) continue;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
  }
}

}  // namespace
}  // namespace paged
