// README's list of what exists is that of the tables which decide it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/core/instance.h"
#include "paged/dtype.h"
#include "paged/internal/feature_rules.h"
#include "paged/internal/lower.h"
#include "paged/internal/rules.h"

namespace paged::testing {
namespace {

constexpr DType kAll[] = {DType::kF16,     DType::kBF16,    DType::kF32,
                          DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8};

std::string NamesOf(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes) names.push_back(std::string(NameOf(dtype)));
  return absl::StrJoin(names, ", ");
}

std::string DTypesOfCuda(InstanceKind kind) {
  std::vector<DType> built;
  for (DType dtype : kAll) {
    const auto serves = [&](const InstanceConfig& config) {
      return config.element == internal::KindOf(dtype) && config.kind == kind;
    };
    if (std::any_of(kInstances.begin(), kInstances.end(), serves)) {
      built.push_back(dtype);
    }
  }
  return NamesOf(built);
}

// "64, 80, ...": what has an instance of exactly its dimensions.
std::string DimsOfCuda(DType dtype) {
  std::set<std::pair<int, int>> dims;
  for (const InstanceConfig& config : kInstances) {
    if (config.kind == InstanceKind::kPlain &&
        config.element == internal::KindOf(dtype)) {
      dims.insert({config.key_dim, config.value_dim});
    }
  }
  return absl::StrJoin(dims, ", ", [](std::string* out, const auto& dim) {
    absl::StrAppend(out, dim.first);
    if (dim.second != dim.first) absl::StrAppend(out, "/", dim.second);
  });
}

int MostDimsOfCuda(InstanceKind kind) {
  int most = 0;
  for (const InstanceConfig& config : kInstances) {
    if (config.kind == kind) most = std::max(most, config.key_dim);
  }
  return most;
}

std::string Row(std::vector<std::string> cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

// A row for each list of dimensions that some caches have.
std::string RowsOfOwnKernels() {
  std::vector<std::pair<std::string, std::vector<DType>>> lists;
  for (DType dtype : kAll) {
    const std::string dims = DimsOfCuda(dtype);
    if (dims.empty()) continue;
    const auto has_these = [&](const auto& list) { return list.first == dims; };
    const auto found = std::find_if(lists.begin(), lists.end(), has_these);
    if (found == lists.end()) {
      lists.push_back({dims, {dtype}});
    } else {
      found->second.push_back(dtype);
    }
  }
  std::string rows;
  for (const auto& [dims, dtypes] : lists) {
    rows +=
        Row({absl::StrCat("... with a kernel of their own: ", NamesOf(dtypes)),
             "", "", dims, ""});
  }
  return rows;
}

std::string Matrix() {
  const std::string queries = NamesOf({DType::kF16, DType::kBF16, DType::kF32});
  const std::string any_dim = absl::StrCat("1 to ", internal::kMaxHeadDim);
  std::string text =
      Row({"what", "field", "CPU", "CUDA", "baseline `thrust`"}) +
      Row({"---", "---", "---", "---", "---"}) +
      Row({"dtypes of queries and outputs", "`query_dtype`", queries, queries,
           queries}) +
      Row({"dtypes of caches", "`kv_dtype`",
           NamesOf({std::begin(kAll), std::end(kAll)}),
           DTypesOfCuda(InstanceKind::kCudaCores), queries}) +
      Row({"... on tensor cores", "", "", DTypesOfCuda(InstanceKind::kGeneral),
           ""}) +
      Row({"dimensions of a head", "`head_dim`, `value_dim`", any_dim,
           absl::StrCat("multiples of 8 to ",
                        MostDimsOfCuda(InstanceKind::kCudaCores)),
           any_dim}) +
      Row({"... on tensor cores", "", "",
           absl::StrCat("multiples of 8 to ",
                        MostDimsOfCuda(InstanceKind::kGeneral)),
           ""}) +
      RowsOfOwnKernels() +
      Row({"q heads per kv head", "`num_q_heads`", "any", "any", "any"}) +
      Row({"tokens of a block", "`block_size`",
           absl::StrCat("1 to ", internal::kMaxBlockSize),
           absl::StrCat("1 to ", internal::kMaxBlockSize),
           absl::StrCat("1 to ", internal::kMaxBlockSize)});
  const auto word = [](bool is_built) { return is_built ? "yes" : "no"; };
  for (const internal::Feature& feature : internal::AllFeatures()) {
    text += Row({feature.meaning, absl::StrCat("`", feature.field, "`"), "yes",
                 "yes", word(feature.in_thrust)});
  }
  return text;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// With PAGED_UPDATE_README=1 the file is brought up to date instead.
TEST(MatrixTest, TheReadmeHasTheTableOfWhatIsBuilt) {
  // A packed program runs beside another checkout, which it is told of.
  const char* data = std::getenv("PAGED_TEST_DATA");
  const std::string root = data == nullptr ? std::string(PAGED_SOURCE_DIR)
                                           : std::string(data) + "/../..";
  const std::string path = root + "/README.md";
  std::string readme = ReadAll(path);
  const std::string begin =
      "<!-- what exists: tests/lib/matrix_test.cc -->\n\n";
  const std::string end = "\n<!-- end -->";
  const std::size_t first = readme.find(begin);
  const std::size_t last = readme.find(end);
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(last, std::string::npos);
  const std::size_t from = first + begin.size();
  if (std::getenv("PAGED_UPDATE_README") != nullptr) {
    readme.replace(from, last - from, Matrix());
    std::ofstream(path) << readme;
    return;
  }
  EXPECT_EQ(readme.substr(from, last - from), Matrix())
      << "PAGED_UPDATE_README=1 writes it";
}

}  // namespace
}  // namespace paged::testing
