// Everything that users may do from several threads at once, done at once. ThreadSanitizer sees what goes wrong without
// consequence: `./dev test --preset tsan tests/cpp`.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/ones_ops.h>

#include <atomic>
#include <functional>
#include <latch>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "cresset/ir/printer.h"
#include "cresset/module/module.h"
#include "cresset/support/error.h"
#include "small_archive.h"

using namespace cresset;

namespace {

constexpr int kThreads = 16;

at::Tensor ones() {
  return at::_ops::ones::call(c10::fromIntArrayRefSlow({2, 2}), std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

Module loadSmall(const std::string& bytes) {
  std::istringstream stream(bytes);
  return load(stream);
}

void require(bool condition, const char* otherwise) {
  if (!condition) throw std::runtime_error(otherwise);
}

/// Runs `work(thread)` on all threads, which start together; what they throw fails the test.
void atOnce(const std::function<void(int)>& work) {
  std::latch start(kThreads);
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        work(t);
      } catch (const std::exception& error) {
        std::lock_guard lock(mutex);
        failures.emplace_back(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) FAIL_CHECK(failure);
}

const char* const kForks = R"(
def work(self, x: Tensor, n: int) -> Tensor:
  y = x
  for i in range(n):
    y = y + self.w
  return y

def start(self, x: Tensor, n: int) -> None:
  self.pending = torch.jit.fork(self.work, x, n)

def finish(self) -> Tensor:
  return torch.jit.wait(self.pending)

def spread(self, x: Tensor, n: int) -> int:
  futures = torch.jit.annotate(List[Future[Tensor]], [])
  for i in range(n):
    futures.append(torch.jit.fork(self.work, x, i))
  total = 0
  for future in futures:
    total += torch.jit.wait(future).numel()
  return total

def check(self, n: int) -> int:
  if n > 2:
    raise ValueError("too many")
  return n

def fails(self) -> int:
  return torch.jit.wait(torch.jit.fork(self.check, 3))
)";

}  // namespace

TEST_CASE("threads: load, compile, run and set attributes of one module at once") {
  const std::string bytes = archive_builder::smallArchive();
  for (int round = 0; round < 3; ++round) {
    // Nothing of it is compiled yet: the first calls race to do that.
    const Module shared = loadSmall(bytes);
    atOnce([&](int t) {
      for (int i = 0; i < 12; ++i) {
        require(shared.forward({ones()}).toTensor().numel() == 4, "a wrong result");
        // What the others read while this writes is one value or the other.
        shared.setattr("n", IValue(2 + (t + i) % 4));
        shared.setattr("w", IValue(ones()));
        shared.setattr("name", IValue("thread " + std::to_string(t)));
        require(!shared.attr("name").toStringRef().empty(), "a wrong name");
        if (i % 4 != t % 4) continue;
        toString(*shared.get_method("forward").function().graph());
        require(shared.deepcopy().forward({ones()}).toTensor().numel() == 4, "a wrong result of a copy");
        const Module own = loadSmall(bytes);
        require(own.forward({ones()}).toTensor().numel() == 4, "a wrong result of an own module");
      }
    });
  }
}

TEST_CASE("threads: fork, and wait for futures that others put into an attribute") {
  Module shared("__torch__.Forks");
  shared.register_buffer("w", ones());
  shared.register_attribute("pending", c10::FutureType::create(c10::TensorType::get()), [] {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get());
    future->markCompleted(IValue(ones()));
    return IValue(future);
  }());
  shared.define(kForks);
  atOnce([&](int t) {
    for (int i = 0; i < 10; ++i) {
      shared.run_method("start", ones(), i);
      shared.setattr("w", IValue(ones()));
      require(shared.run_method("finish").toTensor().numel() == 4, "a wrong result of a future");
      require(shared.run_method("spread", ones(), 5).toInt() == 20, "a wrong result of forks");
      auto future = shared.attr("pending").toFuture();
      future->wait();
      require(future->value().toTensor().numel() == 4, "a wrong result of an attribute");
      try {
        shared.run_method("fails");
        throw std::runtime_error("no error at wait");
      } catch (const ScriptError& error) {
        require(error.message() == "too many" && error.pythonClass() == "builtins.ValueError", error.what());
      }
    }
  });
}

TEST_CASE("threads: define functions in one unit, and call those of others") {
  CompilationUnit unit("def base(x: int):\n  return x + 1\n");
  atOnce([&](int t) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = "f" + std::to_string(t) + "_" + std::to_string(i);
      unit.define("def " + name + "(x: int):\n  return base(x) * " + std::to_string(i) + "\n");
      require(unit.run_method(name, 2).toInt() == int64_t{3} * i, "a wrong result");
      Function* other = unit.find_function("f" + std::to_string((t + 1) % kThreads) + "_" + std::to_string(i));
      require(!other || callFunction(*other, {2}).toInt() == int64_t{3} * i, "another's wrong result");
      require(unit.get_functions().size() > static_cast<size_t>(i), "functions are lost");
      try {
        unit.define("def wrong(x: int):\n  return missing(x)\n");
        throw std::runtime_error("a wrong definition is accepted");
      } catch (const UserError&) {  // perhaps of the same definition that another thread is about to take back
      }
    }
  });
  CHECK(unit.find_function("wrong") == nullptr);
  CHECK(unit.get_functions().size() == 1 + 10 * kThreads);
}
