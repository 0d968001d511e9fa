// The early returns of functions that return a Status.
#ifndef PAGED_LIB_PAGED_INTERNAL_STATUS_MACROS_H_
#define PAGED_LIB_PAGED_INTERNAL_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define PAGED_RETURN_IF_ERROR(expression) \
  if (absl::Status status_ = (expression); !status_.ok()) return status_

#define PAGED_CONCAT_INNER(a, b) a##b
#define PAGED_CONCAT(a, b) PAGED_CONCAT_INNER(a, b)

#define PAGED_ASSIGN_OR_RETURN(target, expression)                     \
  PAGED_ASSIGN_OR_RETURN_IMPL(PAGED_CONCAT(result_, __LINE__), target, \
                              expression)

#define PAGED_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) return std::move(result).status();          \
  target = *std::move(result)

#endif  // PAGED_LIB_PAGED_INTERNAL_STATUS_MACROS_H_
