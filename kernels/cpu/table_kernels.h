// Keeps the block table of a batch, and fills one, on the CPU.
#ifndef PAGED_KERNELS_CPU_TABLE_KERNELS_H_
#define PAGED_KERNELS_CPU_TABLE_KERNELS_H_

#include "kernels/core/table_fill.h"
#include "kernels/core/table_params.h"

namespace paged {

void RunTableUpdate(const TableUpdateParams& params);
void RunBatchTable(const BatchTableParams& params);
void RunFillTable(const TableFillParams& params);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_TABLE_KERNELS_H_
