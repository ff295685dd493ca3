// Processor time of short work, in nanoseconds.
#pragma once

#include <algorithm>
#include <ctime>

inline double threadTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

/// Of one call. Short rounds: what else runs on the machine spoils some of them, and the best one counts.
template <typename Work>
double bestTime(int calls, int rounds, const Work& work) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = threadTime();
    for (int j = 0; j < calls; ++j) work();
    best = std::min(best, (threadTime() - start) / calls);
  }
  return best;
}
