// How much memory a piece of work takes at its peak, of all that malloc and its kin give, in this whole process.
//
// A program that links allocation_counter.cpp has its malloc replaced. Meant for one thread at work.
#pragma once

#include <cstdint>

/// What is allocated now; from here on the peak is recorded.
int64_t startCounting();
/// The bytes that were allocated at the peak beyond `before`, which startCounting returned.
int64_t stopCounting(int64_t before);
