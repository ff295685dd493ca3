// Everything that users may do from several threads at once, done at once. ThreadSanitizer sees what goes wrong without
// consequence: build with -DCRESSET_SANITIZE=thread.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_ops.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "cresset/ir/printer.h"
#include "cresset/module/module.h"
#include "small_archive.h"

using namespace cresset;

namespace {

at::Tensor ones() {
  return at::_ops::ones::call(c10::fromIntArrayRefSlow({2, 2}), std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

Module loadSmall(const std::string& bytes) {
  std::istringstream stream(bytes);
  return load(stream);
}

}  // namespace

TEST_CASE("threads: eight load, compile, run and set attributes of one module at once") {
  const std::string bytes = archive_builder::smallArchive();
  for (int round = 0; round < 4; ++round) {
    // Nothing of it is compiled yet: the first calls race to do that.
    const Module shared = loadSmall(bytes);
    std::latch start(8);
    std::mutex mutex;
    std::vector<std::string> failures;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        try {
          for (int i = 0; i < 20; ++i) {
            const at::Tensor result = shared.forward({ones()}).toTensor();
            if (result.numel() != 4) throw std::runtime_error("a wrong result");
            // What the others read while this writes is one value or the other.
            shared.setattr("n", IValue(2 + (t + i) % 4));
            shared.setattr("w", IValue(ones()));
            shared.setattr("name", IValue("thread " + std::to_string(t)));
            if (shared.attr("name").toStringRef().empty()) throw std::runtime_error("a wrong name");
            if (i % 5 == t % 5) {
              toString(*shared.get_method("forward").function().graph());
              const Module own = loadSmall(bytes);
              if (own.forward({ones()}).toTensor().numel() != 4) throw std::runtime_error("a wrong result of a copy");
            }
          }
        } catch (const std::exception& error) {
          std::lock_guard lock(mutex);
          failures.emplace_back(error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) FAIL_CHECK(failure);
  }
}
