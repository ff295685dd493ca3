// The lock under which definitions are made (Program::definitionMutex), for threads that may hold a lock of the host's:
// Python's. A definer may need the host's lock, so it comes second: who holds it lets go of it while waiting here.
//
// Thread-safety: all of it may be called from any thread.
#pragma once

#include <functional>
#include <mutex>

namespace cresset {

class Program;

/// Calls `wait` while this thread does not hold the host's lock, and takes that back, if it was held, before it
/// returns.
using HostWait = void (*)(const std::function<void()>& wait);

/// For the process; null for a host without such a lock.
void setHostWait(HostWait host_wait);

/// The only way to lock what orders definitions.
std::unique_lock<std::recursive_mutex> lockDefinitions(std::recursive_mutex& mutex);
std::unique_lock<std::recursive_mutex> lockDefinitions(Program& program);

}  // namespace cresset
