// Counts the memory of tensors on the CPU for runs that have a limit.
#pragma once

namespace cresset {

/// From now on allocations of the CPU allocator count towards the RunBudget of the thread that makes them, and are
/// refused if they do not fit. Called when the first memory limit is set; without one nothing is touched.
void countTensorMemory();

}  // namespace cresset
