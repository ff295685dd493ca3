// How much memory a piece of work takes at its peak, of all that malloc and its kin return, in this whole process.
//
// A program that links allocation_counter.cpp has its malloc replaced. Meant for one thread at work.
#pragma once

#include <cstddef>
#include <cstdint>

/// What is allocated now; from here on the peak is recorded.
int64_t startCounting();
/// The bytes that were allocated at the peak beyond `before`, which startCounting returned.
int64_t stopCounting(int64_t before);

/// What is allocated now.
int64_t allocatedBytes();

/// How often memory was asked for since the process has begun: in all, and with an alignment, as tensors' memory and
/// what kernels of oneDNN take is (under AddressSanitizer those are not told apart, and count as in all).
struct AllocationCalls {
  int64_t all = 0, aligned = 0;
};
AllocationCalls allocationCalls();
/// Not under ThreadSanitizer.
bool countsAllocations();
/// From here on one allocation of more than `bytes` fails, as on a machine that has no more. Small ones never do: code
/// that cannot go on without them is no fault of Cresset's. Has no effect under a sanitizer, which has an option for
/// it.
void refuseAllocationsBeyond(size_t bytes);
