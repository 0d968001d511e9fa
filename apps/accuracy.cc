#include "apps/accuracy.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace paged {
namespace {

constexpr double kHuge = 1e308;

double Finite(double error) {
  return std::isfinite(error) ? std::min(error, kHuge) : kHuge;
}

// Equal infinities differ by 0; a NaN is never right.
double AbsError(double got, double right) {
  if (std::isinf(got) && got == right) return 0;
  return Finite(std::abs(got - right));
}

void Fail(Accuracy& accuracy, std::string failure) {
  if (accuracy.pass) accuracy.failure = std::move(failure);
  accuracy.pass = false;
}

// Squared values may leave double's range only when an error is hopeless.
double RelativeL2(const double* got, const double* right, int64_t count,
                  double* max_abs_error) {
  double error = 0;
  double norm = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double difference = AbsError(got[i], right[i]);
    *max_abs_error = std::max(*max_abs_error, difference);
    error += difference * difference;
    if (std::isfinite(right[i])) norm += right[i] * right[i];
  }
  if (error == 0) return 0;
  return norm == 0 ? kHuge : Finite(std::sqrt(error) / std::sqrt(norm));
}

void CompareOutputs(const Layer& layer, const Answer& answer,
                    const Answer& right, const std::string& source,
                    Accuracy& accuracy) {
  const double tolerance = ToleranceOf(layer.dtype);
  const int64_t stride = int64_t{layer.num_q_heads} * layer.value_dim;
  for (int64_t seq = 0; seq < layer.num_seqs; ++seq) {
    const double error = RelativeL2(answer.output.data() + seq * stride,
                                    right.output.data() + seq * stride, stride,
                                    &accuracy.max_abs_error);
    accuracy.max_relative_l2 = std::max(accuracy.max_relative_l2, error);
    if (error <= tolerance) continue;
    Fail(accuracy,
         absl::StrFormat("sequence %d (%d tokens) is off by %.3g in relative "
                         "L2 from %s; %.3g is allowed",
                         seq, layer.context_lens[static_cast<std::size_t>(seq)],
                         error, source, tolerance));
  }
}

void CompareLse(const Layer& layer, const Answer& answer, const Answer& right,
                const std::string& source, Accuracy& accuracy) {
  for (std::size_t row = 0; row < right.lse.size(); ++row) {
    const double error = AbsError(answer.lse[row], right.lse[row]);
    const double scale = std::max(1.0, std::abs(right.lse[row]));
    // Between infinities the error decides alone.
    const double allowed = kLseTolerance * (std::isfinite(scale) ? scale : 1.0);
    if (error <= allowed) continue;
    const auto num_heads = static_cast<std::size_t>(layer.num_q_heads);
    Fail(accuracy,
         absl::StrFormat("lse of sequence %d, q head %d is %.9g, and "
                         "%.9g in %s; %.3g is allowed",
                         row / num_heads, row % num_heads, answer.lse[row],
                         right.lse[row], source, allowed));
  }
}

}  // namespace

double ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 5e-4;
    case DType::kBF16:
      return 5e-3;
    case DType::kF32:
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kInt8:
      break;  // outputs are never stored in 8 bits
  }
  return 1e-5;
}

Accuracy Compare(const Layer& layer, const Answer& answer, const Answer& right,
                 const std::string& source) {
  Accuracy accuracy;
  if (!right.output.empty()) {
    CompareOutputs(layer, answer, right, source, accuracy);
  }
  if (!right.lse.empty()) CompareLse(layer, answer, right, source, accuracy);
  return accuracy;
}

Accuracy WorseOf(const Accuracy& a, const Accuracy& b) {
  return {.max_abs_error = std::max(a.max_abs_error, b.max_abs_error),
          .max_relative_l2 = std::max(a.max_relative_l2, b.max_relative_l2),
          .pass = a.pass && b.pass,
          .failure = a.failure.empty() ? b.failure : a.failure};
}

}  // namespace paged
