// The stack of those who see a thread's operator calls.
#include "cresset/ops/operator_clients.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/add.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/ones.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "test.h"

namespace cresset {
namespace {

enum class Does { HandOn, LetPass, Negate, Throw };

/// Writes down what it sees.
class Listener final : public OperatorClient {
 public:
  explicit Listener(Does does = Does::HandOn) : does_(does) {}

  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack) override {
    seen += op.schema().name().substr(6) + ' ';
    if (does_ == Does::Throw) throw std::runtime_error("refused");
    if (does_ == Does::LetPass && op.schema().name() == "aten::linear") return letPass(op, keys, stack);
    handOn(op, keys, stack);
    if (does_ != Does::Negate) return;
    const HandingOn outward;
    stack.back() = at::neg(stack.back().toTensor());
  }

  std::string seen;

 private:
  const Does does_;
};

TEST_CASE("clients see what the next one inward hands on") {
  const at::Tensor one = at::ones({2});
  Listener outer, inner(Does::Negate);
  at::Tensor result;
  {
    const ClientScope outer_scope(outer);
    at::neg(one);
    {
      const ClientScope inner_scope(inner);
      result = at::add(one, one);
      {
        const ClientPause pause;
        at::neg(one);
        CHECK(findClient<Listener>() == nullptr);
      }
      CHECK(findClient<Listener>() == &inner);
      // Another thread has no clients.
      std::thread([&] { at::neg(one); }).join();
    }
    at::neg(one);
  }
  at::neg(one);
  CHECK(inner.seen == "add ");
  CHECK(outer.seen == "neg add neg neg ");
  CHECK(result.equal(at::ones({2}).mul(-2)));
}

TEST_CASE("a client may see what a composite operator calls") {
  const at::Tensor one = at::ones({2, 2});
  Listener whole, parts(Does::LetPass);
  {
    const ClientScope scope(whole);
    at::linear(one, one);
  }
  {
    const ClientScope scope(parts);
    at::linear(one, one);
  }
  CHECK(whole.seen == "linear ");
  CHECK(parts.seen.starts_with("linear "));
  CHECK(parts.seen.size() > whole.seen.size());
}

TEST_CASE("an exception leaves no client behind, and a scope may open where calls are not seen") {
  const at::Tensor one = at::ones({2});
  Listener outer, refuses(Does::Throw), late;
  {
    const ClientScope outer_scope(outer);
    CHECK_THROWS([&] {
      const ClientScope scope(refuses);
      at::neg(one);
    }());
    at::neg(one);
    const ClientPause pause;
    at::neg(one);
    const ClientScope scope(late);
    at::add(one, one);
  }
  CHECK(outer.seen == "neg ");
  CHECK(late.seen == "add ");
  CHECK(findClient<Listener>() == nullptr);
}

}  // namespace
}  // namespace cresset
