#include "cresset/program/definition_lock.h"

#include <atomic>

#include "cresset/program/program.h"

namespace cresset {

namespace {

std::atomic<HostWait> host_wait{nullptr};

}  // namespace

void setHostWait(HostWait wait) {
  host_wait.store(wait, std::memory_order_release);
}

std::unique_lock<std::recursive_mutex> lockDefinitions(std::recursive_mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  if (const HostWait wait = host_wait.load(std::memory_order_acquire)) {
    wait([&] { lock.lock(); });
  } else {
    lock.lock();
  }
  return lock;
}

std::unique_lock<std::recursive_mutex> lockDefinitions(Program& program) {
  return lockDefinitions(program.definitionMutex());
}

}  // namespace cresset
