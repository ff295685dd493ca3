// Damaged and hostile copies of archives; archive_checks.h says what must hold of each.
//
// Each mutation is a function of (seed, number), so one can be repeated alone.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace archive_mutator {

struct Options {
  size_t count = 1000;
  uint64_t seed = 1;
  std::string save_as;                            // a file that gets each mutation before it is loaded; "" for none
  std::optional<size_t> only;                     // this mutation alone
  bool call = true;                               // what loads
  bool verbose = false;                           // why each was refused, and each call before it is made
  unsigned seconds_for_one = 60;                  // SIGALRM is raised when one mutation takes longer
  volatile std::sig_atomic_t* current = nullptr;  // is set to the number of the mutation at work
};

struct Tally {
  size_t loaded = 0, refused = 0, compile_errors = 0;
  size_t returned = 0, raised = 0, interrupted = 0;  // calls
};

struct Report {
  std::map<std::string, Tally> tallies;  // by kind of mutation
  std::vector<std::string> failures;     // what must hold and did not
  double slowest_load = 0;               // seconds
  double largest_allocation = 0;         // of the limit
};

/// A copy of an archive, which may be damaged already, with one thing changed: of its bytes, of one record's bytes, or
/// as run() does.
std::string mutate(
    const std::string& archive, std::mt19937_64& random, const std::function<void(std::string&)>& mutate_bytes);

/// `archives` are the bytes of archives that load.
Report run(const std::vector<std::string>& archives, const Options& options);

}  // namespace archive_mutator
