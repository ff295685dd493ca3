#include "filetest_run.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/rand.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <regex>
#include <stdexcept>
#include <unordered_map>

#include "cresset/executor/executor.h"
#include "cresset/executor/fact_checks.h"
#include "cresset/executor/mode.h"
#include "cresset/functionalization/functionalize.h"
#include "cresset/interpreter/bailout.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/verifier.h"
#include "cresset/passes/pass.h"
#include "cresset/static_runtime/static_program.h"
#include "cresset/support/error.h"
#include "filetest_calls.h"
#include "value_printing.h"

namespace cresset::tools {

namespace {

/// Values as text: tensors with strides where they are unusual; objects with their attributes.
class Describer {
 public:
  /// The tensors in a value, with the ways to them: "result[1]", "d['key']", "self.weight".
  using Tensors = std::vector<std::pair<std::string, at::Tensor>>;

  static std::string text(const c10::IValue& value) {
    if (!value.isObject()) return reprOf(value);
    const auto object = value.toObject();
    std::string out = object->type()->name()->name() + "(";
    for (size_t i = 0; i < object->type()->numAttributes(); ++i)
      out += (i ? ", " : "") + object->type()->getAttributeName(i) + "=" + text(object->getSlot(i));
    return out + ")";
  }

  static void collect(const c10::IValue& value, const std::string& path, Tensors& out) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) out.emplace_back(path, value.toTensor());
    } else if (value.isTuple()) {
      const auto& elements = value.toTupleRef().elements();
      for (size_t i = 0; i < elements.size(); ++i) collect(elements[i], path + "[" + std::to_string(i) + "]", out);
    } else if (value.isList()) {
      const auto list = value.toListRef();
      for (size_t i = 0; i < list.size(); ++i) collect(list[i], path + "[" + std::to_string(i) + "]", out);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict())
        collect(entry.value(), path + "[" + reprOf(entry.key()) + "]", out);
    } else if (value.isObject()) {
      const auto object = value.toObject();
      for (size_t i = 0; i < object->type()->numAttributes(); ++i)
        collect(object->getSlot(i), path + "." + object->type()->getAttributeName(i), out);
    }
  }
};

/// What one run of a call did.
struct Run {
  std::string text;                          // for people; equal in all runs
  std::vector<at::Tensor> second_gradients;  // equal but for the order of sums
};

std::string layoutOf(const at::Tensor& tensor) {
  std::string out;
  if (tensor.layout() != at::kStrided || tensor.is_contiguous()) return out;
  return ", strides (" + c10::Join(", ", tensor.strides()) + ")";
}

/// Numbers that differ from element to element: gradients of sums would hide errors that permute or mix them.
at::Tensor weightsFor(const at::Tensor& tensor) {
  const auto numbers = at::linspace(1, 2, tensor.numel(), tensor.options().dtype(at::kDouble).requires_grad(false));
  return numbers.to(tensor.scalar_type()).view(tensor.sizes());
}

class Runner {
 public:
  using How = std::function<void(Stack&)>;
  Runner(const Call& call, bool second_order, How how)
      : call_(call), second_order_(second_order), how_(std::move(how)) {}

  Run run() {
    const CallValues values = call_.evaluate();
    const std::vector<c10::IValue>& arguments = values.arguments;
    for (size_t i = 0; i < arguments.size(); ++i) watch(parameterName(*call_.function, i), arguments[i]);
    for (const auto& [name, value] : values.defined) watch("let " + name, value);
    for (const auto& [name, tensor] : given_) {
      if (tensor.requires_grad() && tensor.is_leaf()) leaves_.emplace_back(name, tensor);
    }
    Stack stack(arguments.begin(), arguments.end());
    std::optional<c10::IValue> result;
    try {
      how_(stack);
      result = stack.back();
      out_ += "-> " + Describer::text(*result) + "\n";
    } catch (const std::exception& error) {
      out_ += "raises " + describeError(error) + "\n";
    }
    for (const Watched& one : watched_) {
      const std::string now = Describer::text(one.value);
      if (now != one.before) out_ += "  " + one.name + " becomes " + now + "\n";
    }
    if (at::rand({1}).item<float>() != firstRandom()) out_ += "  draws random numbers\n";
    if (result) describeResult(*result);
    return {out_, std::move(second_)};
  }

 private:
  struct Watched {
    std::string name, before;
    c10::IValue value;
  };

  void watch(const std::string& name, const c10::IValue& value) {
    const bool is_watched =
        std::any_of(watched_.begin(), watched_.end(), [&](const Watched& other) { return other.value.is(value); });
    if (!is_watched) watched_.push_back({name, Describer::text(value), value});
    Describer::Tensors tensors;
    Describer::collect(value, name, tensors);
    for (auto& [path, tensor] : tensors) {
      const bool is_known =
          std::any_of(given_.begin(), given_.end(), [&](const auto& known) { return known.second.is_same(tensor); });
      if (!is_known) given_.emplace_back(std::move(path), std::move(tensor));
    }
  }

  static float firstRandom() {
    at::manual_seed(1);
    return at::rand({1}).item<float>();
  }

  void describeResult(const c10::IValue& result) {
    Describer::Tensors results, seen = given_;
    Describer::collect(result, "result", results);
    for (const auto& [name, tensor] : results) {
      if (const std::string layout = layoutOf(tensor); !layout.empty()) out_ += "  " + name + layout + "\n";
      for (const auto& [other, known] : seen) {
        const bool is_same = known.is_same(tensor);
        const bool shares = tensor.has_storage() && known.has_storage() && tensor.is_alias_of(known);
        if (!is_same && !shares) continue;
        out_ += "  " + name + (is_same ? " is " : " shares memory with ") + other;
        if (!is_same && tensor.storage_offset()) out_ += ", from element " + std::to_string(tensor.storage_offset());
        out_ += "\n";
        break;
      }
      seen.emplace_back(name, tensor);
    }
    if (!leaves_.empty()) describeGradients(results);
  }

  void describeGradients(const Describer::Tensors& results) {
    std::vector<at::Tensor> outputs, weights, wanted;
    for (const auto& [name, tensor] : results) {
      if (!tensor.requires_grad()) continue;
      outputs.push_back(tensor);
      weights.push_back(weightsFor(tensor));
    }
    if (outputs.empty()) return;
    for (const auto& [name, tensor] : leaves_) wanted.push_back(tensor);
    const auto gradients = [&](bool create_graph) {
      return torch::autograd::grad(
          outputs, wanted, weights, /*retain_graph=*/true, create_graph, /*allow_unused=*/true);
    };
    try {
      const auto first = gradients(false);
      for (size_t i = 0; i < first.size(); ++i)
        out_ += "  gradient of " + leaves_[i].first + ": " +
                (first[i].defined() ? reprOf(c10::IValue(first[i])) + layoutOf(first[i]) : "none") + "\n";
      if (second_order_) addSecondOrder(gradients(true), wanted);
    } catch (const std::exception& error) {
      out_ += "  gradients raise " + describeError(error) + "\n";
    }
  }

  void addSecondOrder(const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& wanted) {
    std::vector<at::Tensor> outputs, weights;
    for (const at::Tensor& gradient : first) {
      if (!gradient.defined() || !gradient.requires_grad()) continue;
      outputs.push_back(gradient);
      weights.push_back(weightsFor(gradient));
    }
    if (outputs.empty()) return;
    second_ = torch::autograd::grad(outputs, wanted, weights, false, false, /*allow_unused=*/true);
  }

  const Call& call_;
  const bool second_order_;
  const How how_;
  std::vector<Watched> watched_;
  Describer::Tensors given_, leaves_;
  std::string out_;
  std::vector<at::Tensor> second_;
};

/// With five digits of each number: the last ones are other ones on other processors.
std::string rounded(const std::string& text) {
  static const std::regex number("-?[0-9]+\\.[0-9]+(e[+-][0-9]+)?");
  std::string out;
  auto at = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    out.append(at, text.begin() + it->position());
    at = text.begin() + it->position() + it->length();
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.5g", std::strtod(it->str().c_str(), nullptr));
    out += buffer;
    if (std::string_view(buffer).find_first_of(".e") == std::string_view::npos) out += ".0";
  }
  return out.append(at, text.end());
}

bool areClose(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    // A gradient that is absent and one of zeros are the same.
    if (!a[i].defined() || !b[i].defined()) {
      const at::Tensor& other = a[i].defined() ? a[i] : b[i];
      if (other.defined() && other.abs().max().item<double>() != 0) return false;
    } else if (a[i].sizes() != b[i].sizes() || !at::allclose(a[i], b[i], 1e-4, 1e-5, /*equal_nan=*/true)) {
      return false;
    }
  }
  return true;
}

using Capture = std::function<std::string(const std::function<void()>&)>;

Run captured(const Capture& capture, const Call& call, Runner::How how = nullptr) {
  if (!how) how = [&call](Stack& stack) { call.function->run(stack); };
  Run run;
  const std::string printed = capture([&] { run = Runner(call, /*second_order=*/true, how).run(); });
  std::string shown;
  for (const std::string& line : splitLines(printed)) shown += "  prints " + line + "\n";
  run.text += shown;
  return run;
}

/// Restores the process's switches.
struct Switches {
  ~Switches() {
    setFactChecks(FactChecks::Off);
    setFailingGuard({});
  }
};

void compare(const std::string& how, const Call& call, const Run& expected, const Run& run) {
  if (run.text != expected.text)
    throw std::runtime_error(call.text + " differs " + how + ":\n" + difference(expected.text, run.text));
  if (!areClose(expected.second_gradients, run.second_gradients))
    throw std::runtime_error(
        call.text + " has other second derivatives " + how + ":\n  " + reprOf(c10::IValue(expected.second_gradients)) +
        "\n  " + reprOf(c10::IValue(run.second_gradients)));
}

/// Why calls of the functions were not served by plans, each reason once.
std::string withoutPlans(const std::vector<Call>& calls) {
  std::string out;
  std::vector<Function*> asked;
  for (const Call& call : calls) {
    if (std::find(asked.begin(), asked.end(), call.function) != asked.end()) continue;
    asked.push_back(call.function);
    const ExecutionReport report = explain(*call.function);
    for (size_t i = 0; i < kNumWithoutPlan; ++i) {
      if (report.without_plan[i])
        out += "no plan for " + call.function->name() + ": " + std::string(toString(WithoutPlan(i))) + "\n";
    }
    if (!report.state.empty()) out += "no plan for " + call.function->name() + ": " + report.state + "\n";
  }
  return out;
}

/// Without gradients, as static modules and functionalized graphs run.
std::vector<Run> withoutGradients(const TestFile& test, const Capture& capture) {
  const GraphOptimizerEnabledGuard unoptimized(false);
  const auto program = programOfTest(test);
  std::vector<Run> runs;
  for (const Call& call : callsOf(test, *program)) runs.push_back(captured(capture, call));
  return runs;
}

/// Of a call that raises, without what its arguments have become: those of a functionalized graph stay as they are.
Run withoutUnfinishedWrites(Run run) {
  if (!run.text.starts_with("raises ")) return run;
  std::string kept;
  for (const std::string& line : splitLines(run.text))
    if (line.find(" becomes ") == std::string::npos) kept += line + "\n";
  run.text = std::move(kept);
  return run;
}

/// The functions' graphs, calls inlined, without mutation, and with what is written into memory again: unoptimized,
/// each does what the function does. With gradients it may raise where the function does not
/// (docs/functionalization.md).
void compareFunctionalized(const TestFile& test, const Capture& capture) {
  const c10::AutoGradMode no_gradients(false);
  const std::vector<Run> expected = withoutGradients(test, capture);
  const GraphOptimizerEnabledGuard unoptimized(false);
  for (const bool reinplaced : {false, true}) {
    const auto program = programOfTest(test);
    const std::vector<Call> calls = callsOf(test, *program);
    std::unordered_map<Function*, std::shared_ptr<const Code>> rewritten;
    for (size_t k = 0; k < calls.size(); ++k) {
      Function& function = *calls[k].function;
      std::shared_ptr<const Code>& code = rewritten[&function];
      if (!code) {
        const std::shared_ptr<Graph> graph = function.graph()->copy();
        inlineCalls(*graph);
        functionalize(*graph, /*inputs_are_distinct=*/false);
        tidyFunctional(*graph);
        if (reinplaced) reinplace(*graph, /*inputs_are_distinct=*/false);
        verify(*graph);
        code = emitCode(graph, function.name());
      }
      const auto how = [&](Stack& stack) { runCode(*code, stack); };
      compare(
          reinplaced ? "functionalized and computed in place" : "functionalized", calls[k],
          withoutUnfinishedWrites(expected[k]), withoutUnfinishedWrites(captured(capture, calls[k], how)));
    }
  }
}

/// Static modules of the functions, in memory that is filled with NaN after its use: each call does what it does
/// unoptimized, without gradients.
void compareStatic(const TestFile& test, const Capture& capture) {
  const c10::AutoGradMode no_gradients(false);
  const std::vector<Run> expected = withoutGradients(test, capture);
  std::vector<StaticModuleOptions> all(3);
  all[1].manage_output_tensors = all[1].fill_freed_memory = true;
  all[2].memory_policy = MemoryPolicy::Precomputed;
  all[2].fill_freed_memory = all[2].cleanup_activations = true;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto program = programOfTest(test);
    const std::vector<Call> calls = callsOf(test, *program);
    std::unordered_map<Function*, std::unique_ptr<StaticModule>> modules;
    for (int round = 1; round <= 2; ++round) {
      for (size_t k = 0; k < calls.size(); ++k) {
        auto& module = modules[calls[k].function];
        if (!module) module = std::make_unique<StaticModule>(*calls[k].function, all[i]);
        StaticRuntime& runtime = module->runtime();
        const auto how = [&](Stack& stack) { module->program()->run(stack, runtime); };
        compare(
            "in a static module (options " + std::to_string(i) + "), round " + std::to_string(round), calls[k],
            expected[k], captured(capture, calls[k], how));
        runtime.check_for_memory_leak();
      }
    }
  }
}

}  // namespace

std::string runCalls(const TestFile& test, const Capture& capture) {
  std::vector<Run> expected;
  std::string out;
  {
    const GraphOptimizerEnabledGuard unoptimized(false);
    const auto program = programOfTest(test);
    for (const Call& call : callsOf(test, *program)) {
      expected.push_back(captured(capture, call));
      out += call.text + " " + rounded(expected.back().text);
    }
  }
  const Switches restored;
  const auto runAll = [&](const std::string& how, int times) {
    const auto program = programOfTest(test);
    const std::vector<Call> calls = callsOf(test, *program);
    for (int i = 1; i <= times; ++i) {
      for (size_t k = 0; k < calls.size(); ++k)
        compare(how + ", round " + std::to_string(i), calls[k], expected[k], captured(capture, calls[k]));
    }
    return withoutPlans(calls);
  };
  out += runAll("in a plan", 3);
  setFactChecks(FactChecks::InPlans);
  runAll("in a plan that asserts its facts", 2);
  setFactChecks(FactChecks::Unoptimized);
  runAll("in a plan that only asserts facts", 1);
  setFactChecks(FactChecks::Off);
  for (int guard = 0; guard < 2; ++guard) {
    setFailingGuard({guard, 1});
    runAll("where guard " + std::to_string(guard) + " fails", 2);
  }
  setFailingGuard({});
  compareStatic(test, capture);
  compareFunctionalized(test, capture);
  return out;
}

}  // namespace cresset::tools
