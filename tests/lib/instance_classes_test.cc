// Which of the compiled instances serves which shape.
#include "paged/internal/instance_classes.h"

#include <gtest/gtest.h>

#include <string>

#include "paged/plan.h"
#include "tests/lib/shapes.h"

namespace paged {
namespace {

using testing::Batch;
using testing::ErrorOf;
using testing::ProblemOf;
using testing::ShapeOf;

constexpr Batch kBatch = {8, 4, 2, 1024};

TEST(InstanceClassesTest, EveryInstanceIsFoundAndNoOther) {
  for (const InstanceConfig& config : kInstances) {
    const Instance instance = internal::InstanceOf(config);
    EXPECT_EQ(internal::ConfigOf(instance), &config) << NameOf(instance);
    Instance other = instance;
    other.stages += 8;
    EXPECT_EQ(internal::ConfigOf(other), nullptr) << NameOf(other);
    // Those on CUDA cores have every rule.
    other = instance;
    other.on_cuda_cores = true;
    other.is_general = false;
    EXPECT_EQ(internal::ConfigOf(other), nullptr) << NameOf(other);
  }
  EXPECT_EQ(internal::ConfigOf({}), nullptr);
}

// The cheapest that can: exact dimensions, then general, then CUDA cores.
TEST(InstanceClassesTest, EachShapeHasAnInstance) {
  const auto name_of = [](DType kv, DType query, int dim, int window,
                          int q_len = 1) {
    DecodeShape shape = ShapeOf(kBatch);
    shape.q_len = q_len;
    shape.kv_dtype = kv;
    shape.query_dtype = query;
    shape.head_dim = shape.value_dim = dim;
    shape.query = shape.output = {};
    shape.key = shape.value = {};
    shape.window = window;
    const std::string name =
        NameOf(MakePlan(ValidateShape(shape).value(), H200Profile(), {})
                   .value()
                   .instance);
    return name.substr(0, name.rfind("_w"));
  };
  constexpr DType kF16 = DType::kF16;
  constexpr DType kF32 = DType::kF32;
  constexpr DType kE4M3 = DType::kFp8E4M3;
  EXPECT_EQ(name_of(kF16, kF16, 80, 0), "fp16_d80_r16");
  EXPECT_EQ(name_of(kF16, kF16, 88, 0), "fp16_d128_general_r8");
  EXPECT_EQ(name_of(kF16, kF16, 80, 100), "fp16_d128_general_r8");
  EXPECT_EQ(name_of(kF16, kF16, 160, 0), "fp16_d192_general_r16");
  EXPECT_EQ(name_of(kF16, kF16, 512, 0), "fp16_d512_r8");
  EXPECT_EQ(name_of(kF16, kF32, 64, 0), "fp16_d128_cores_r8");
  EXPECT_EQ(name_of(kF32, kF32, 64, 100), "fp32_d128_cores_r8");
  EXPECT_EQ(name_of(kE4M3, DType::kBF16, 128, 0), "fp8_e4m3_d128_r8");
  EXPECT_EQ(name_of(kE4M3, kF16, 72, 0), "fp8_e4m3_d128_general_r8");
  EXPECT_EQ(name_of(kE4M3, kF32, 128, 0), "fp8_e4m3_d128_cores_r8");
  EXPECT_EQ(name_of(DType::kInt8, kF16, 128, 0), "int8_d128_r8");
  EXPECT_EQ(name_of(DType::kInt8, kF16, 64, 0), "int8_d64_general_r16");
  // Two row tiles, the second of which reads from the L2.
  EXPECT_EQ(name_of(kF16, kF16, 128, 0, 9), "fp16_d128_general_r16");
}

// Of 134 MB and more, no second row tile is to read them again.
TEST(InstanceClassesTest, ManyRowsOfLargeCachesShareTheirTiles) {
  const auto rows_of = [](int num_seqs, int q_len, int context_len = 32768,
                          DType kv_dtype = DType::kF16) {
    DecodeShape shape = ShapeOf({num_seqs, 8, 4, context_len});
    shape.q_len = q_len;
    shape.kv_dtype = kv_dtype;
    return MakePlan(ValidateShape(shape).value(), H200Profile(), {})
        .value()
        .rows_per_item;
  };
  EXPECT_EQ(rows_of(16, 4), 16);
  EXPECT_EQ(rows_of(16, 8), 32);
  EXPECT_EQ(rows_of(1, 8), 32);
  EXPECT_EQ(rows_of(1, 8, 16384), 16);
  for (DType bytes : {DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8}) {
    EXPECT_EQ(rows_of(64, 4, 2048, bytes), 16);
    EXPECT_EQ(rows_of(64, 8, 2048, bytes), 32);
    EXPECT_EQ(rows_of(1, 8, 16384, bytes), 16);
  }
}

TEST(InstanceClassesTest, AForcedInstanceIsTakenOrRefused) {
  const auto forced = [](int warps, int stages) {
    return MakePlan(ProblemOf(kBatch), H200Profile(),
                    {.instance = InstanceChoice{warps, stages}})
        .value()
        .instance;
  };
  EXPECT_EQ(forced(8, 3), (Instance{DType::kF16, 128, 128, 8, 3, 8}));
  absl::Status status = ErrorOf(ShapeOf(kBatch), H200Profile(),
                                {.instance = InstanceChoice{5, 7}});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message().substr(0, 36),
            "instance w5s7 is not built; built: w");
  // One that up to eight rows do not have, and one that CUDA cores alone have.
  EXPECT_EQ(forced(4, 2), (Instance{DType::kF16, 128, 128, 4, 2, 16}));
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), H200Profile(),
                    {.instance = InstanceChoice{4, 1}})
                .code(),
            absl::StatusCode::kUnimplemented);
  // 130 KB per CTA do not fit an RTX 3090.
  status = ErrorOf(ShapeOf(kBatch), Rtx3090Profile(),
                   {.instance = InstanceChoice{8, 2}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "no plan can run on NVIDIA GeForce RTX 3090: needs 133120 bytes of "
            "shared memory per CTA; the device has 101376");
  EXPECT_FALSE(ErrorOf(ShapeOf(kBatch), CpuProfile(2),
                       {.instance = InstanceChoice{4, 2}})
                   .ok());
}

TEST(InstanceClassesTest, EveryPlanOfASmallDeviceFitsIt) {
  for (int context_len : {16, 512, 4096, 131072}) {
    const DecodePlan plan =
        MakePlan(ProblemOf({1, 8, 4, context_len}), Rtx3090Profile(), {})
            .value();
    EXPECT_LE(internal::ConfigOf(plan.instance)->shared_bytes(), 101376);
  }
}

}  // namespace
}  // namespace paged
