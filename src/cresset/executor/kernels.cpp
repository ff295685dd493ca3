#include "cresset/executor/kernels.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "cresset/analysis/alias.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/executor/kernel_cache.h"
#include "cresset/executor/kernel_check.h"
#include "cresset/executor/launch.h"
#include "cresset/executor/launch_report.h"
#include "cresset/interpreter/code.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/interpreter/out_variant.h"
#include "cresset/interpreter/plain_tensor.h"
#include "cresset/ir/subgraph.h"
#include "cresset/passes/fuse.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

std::atomic<size_t> num_launches{0}, num_unfused{0};

/// "1.2 MB"; each unit is a thousand of the one before.
std::string withUnit(double number, const std::array<const char*, 4>& units) {
  size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < units.size(); ++unit) number /= 1000;
  std::array<char, 32> text{};
  std::snprintf(
      text.data(), text.size(), number < 9.95 && number != std::floor(number) ? "%.1f %s" : "%.0f %s", number,
      units[unit]);
  return text.data();
}

/// Of the node's inputs: whether what computes it makes memory for it.
std::vector<bool> areNew(const Node& subgraph) {
  std::vector<bool> are_new;
  for (const Value* input : subgraph.inputs()) {
    const Node* maker = input->node();
    const Operator* op = isStructural(maker->kind()) ? nullptr : operatorOf(*maker);
    are_new.push_back(
        isSubgraph(*maker, SubgraphKind::Fused) || isSubgraph(*maker, SubgraphKind::Sequence) ||
        (op && returnsNewMemory(*op, input->offset())));
  }
  return are_new;
}

class FusedSubgraph : public CompiledSubgraph, public OutVariant {
 public:
  FusedSubgraph(const Graph& subgraph, bool is_group, std::vector<bool> are_new)
      : is_group_(is_group), are_new_(std::move(are_new)), sequence_(codegen::makeSequence(subgraph, is_group)) {
    if (!is_group) subgraph_ = subgraph.copy();
    const std::shared_ptr<Graph> unfused = subgraph.copy();
    if (is_group && group().contracts) formFusionGroupsWithoutProducts(*unfused);
    unfused_ = interpretSubgraph(*unfused, {}, compileFused);
    const auto nodes = subgraph.nodes();
    const auto num_operators = std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
      return codegen::isCall(*node) && !codegen::makesKnownViews(*node);
    });
    if (!is_group || options::kernels() != KernelMode::Check || num_operators == 1) return;
    const std::shared_ptr<Graph> separate = subgraph.copy();
    outlineEachOperator(*separate);
    separate_ = interpretSubgraph(*separate, {}, compileFused);
  }

  ~FusedSubgraph() override {
    for (auto& launch : launches_) delete launch.load(std::memory_order_relaxed);
  }

  bool allowsOwnMemory() const override { return true; }

  bool call(const OutArguments& arguments, std::vector<c10::IValue>& stack) const override {
    const size_t num_inputs = arguments.numInputs();
    for (size_t i = 0; i < num_inputs; ++i) stack.push_back(arguments.input(i));
    std::shared_ptr<const Launch> held;
    const Launch* launch = options::kernels() == KernelMode::Check ? nullptr : findLaunch(stack.data(), held);
    if (!launch || !launch->isReady()) {
      call(stack, num_inputs);
      return false;
    }
    num_launches.fetch_add(1, std::memory_order_relaxed);
    c10::SmallVector<at::Tensor*, 4> outputs;
    for (size_t i = 0; i < arguments.numOutputs(); ++i) outputs.push_back(&arguments.rawOutput(i));
    if (launch->runInto(sequence_, stack.data(), outputs)) {
      stack.clear();
      return true;
    }
    unfused_->call(stack, num_inputs);
    return false;
  }

  void call(std::vector<c10::IValue>& stack, size_t num_inputs) const override {
    std::shared_ptr<const Launch> held;
    const Launch* launch = findLaunch(stack.data() + (stack.size() - num_inputs), held);
    if (!launch || !launch->isReady()) {
      if (launch && launch->split()) return launch->split()->whole->call(stack, num_inputs);
      num_unfused.fetch_add(1, std::memory_order_relaxed);
      return unfused_->call(stack, num_inputs);
    }
    num_launches.fetch_add(1, std::memory_order_relaxed);
    if (options::kernels() == KernelMode::Check) return runChecked(*launch, stack, num_inputs);
    if (!launch->run(sequence_, stack, num_inputs, are_new_)) unfused_->call(stack, num_inputs);
  }

  LaunchReport report() const {
    timeLimit({});  // measures once: not while calls wait for the lock
    LaunchReport report;
    report.items.resize(sequence_.items.size());
    const std::lock_guard lock(mutex_);
    for (const auto& slot : launches_) {
      if (const Launch* launch = slot.load(std::memory_order_relaxed)) addReport(*launch, report);
    }
    for (const auto& launch : recent_) addReport(*launch, report);
    return report;
  }

 private:
  void addReport(const Launch& launch, LaunchReport& report) const {
    const Launch::Report whole = launch.report(sequence_);
    for (size_t i = 0; i < whole.items.size(); ++i) {
      const Launch::ItemReport& item = whole.items[i];
      std::string text;
      if (std::binary_search(launch.refused().begin(), launch.refused().end(), i)) {
        text = "no kernel for " + whole.layouts + ": its operators run";
      } else if (whole.calls > 0 && item.work.bytes > 0) {
        text = std::to_string(whole.calls) + (whole.calls == 1 ? " call of " : " calls of ") + whole.layouts + ": " +
               withUnit(item.work.bytes, {"B", "kB", "MB", "GB"}) + ", " +
               withUnit(item.work.flops, {"flop", "kflop", "Mflop", "Gflop"});
        if (item.nanoseconds > 0) text += ", " + withUnit(item.nanoseconds, {"ns", "us", "ms", "s"});
        if (item.limit > 0) {
          text += ", at least " + withUnit(item.limit, {"ns", "us", "ms", "s"}) +
                  (item.by_memory ? " by memory" : " by arithmetic");
        }
      } else {
        continue;
      }
      report.items[i].push_back(std::move(text));
    }
    if (launch.split()) addSplit(*launch.split(), report);
  }

  /// Of what runs around the items that were refused.
  static void addSplit(const Launch::Split& split, LaunchReport& report) {
    const Code* code = split.whole->code();
    if (!code) return;
    auto item = split.items.begin();
    for (const auto& subgraph : code->subgraphs) {
      for (const auto& lines : reportLaunches(*subgraph).items) {
        auto& own = report.items[*item++];
        own.insert(own.end(), lines.begin(), lines.end());
      }
    }
  }

  /// Layouts that are found without a lock, and others.
  static constexpr size_t kMaxLaunches = 16, kMaxRecent = 64;

  const codegen::Group& group() const { return std::get<codegen::Group>(sequence_.items[0].work); }

  /// Null for inputs that no kernel takes.
  const Launch* findLaunch(const c10::IValue* inputs, std::shared_ptr<const Launch>& held) const {
    for (size_t i = 0; i < sequence_.tensors.size(); ++i) {
      const at::Tensor& tensor = inputs[sequence_.tensors[i]].toTensor();
      if (!tensor.defined() || !hasPlainMemory(tensor) || tensor.scalar_type() != sequence_.tensor_dtypes[i] ||
          isRecorded(tensor) || carriesTangent(tensor))
        return nullptr;
    }
    for (const auto& slot : launches_) {
      const Launch* launch = slot.load(std::memory_order_acquire);
      if (!launch) break;
      if (fits(*launch, inputs)) return launch;
    }
    return addLaunch(inputs, held);
  }

  bool fits(const Launch& launch, const c10::IValue* inputs) const {
    size_t position = 0;
    return std::all_of(sequence_.tensors.begin(), sequence_.tensors.end(), [&](size_t input) {
      return launch.layouts().match(inputs[input].toTensor(), position);
    });
  }

  /// Remembers the layout. Once there are many of them the oldest is forgotten; `held` keeps the launch until then.
  const Launch* addLaunch(const c10::IValue* inputs, std::shared_ptr<const Launch>& held) const {
    const std::lock_guard lock(mutex_);
    for (auto& slot : launches_) {
      const Launch* launch = slot.load(std::memory_order_relaxed);
      if (launch && fits(*launch, inputs)) return launch;
      if (launch) continue;
      launch = makeLaunch(inputs).release();
      slot.store(launch, std::memory_order_release);
      return launch;
    }
    const auto found =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& launch) { return fits(*launch, inputs); });
    if (found != recent_.end()) {
      std::rotate(recent_.begin(), found, found + 1);
    } else {
      if (recent_.size() == kMaxRecent) recent_.pop_back();
      recent_.insert(recent_.begin(), makeLaunch(inputs));
    }
    held = recent_.front();
    return held.get();
  }

  std::unique_ptr<const Launch> makeLaunch(const c10::IValue* inputs) const {
    auto launch = std::make_unique<Launch>(sequence_, tensorsOf(inputs), compilesNow());
    if (!launch->refused().empty() && subgraph_) launch->setSplit(splitAt(launch->refused()));
    return launch;
  }

  /// Kernels around groups that have none, or null if there are only joins without.
  std::shared_ptr<const Launch::Split> splitAt(std::vector<size_t> items) const {
    std::erase_if(
        items, [&](size_t item) { return !std::holds_alternative<codegen::Group>(sequence_.items[item].work); });
    if (items.empty()) return nullptr;
    std::erase_if(splits_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Launch::Split>& known = splits_[items];
    std::shared_ptr<const Launch::Split> split = known.lock();
    if (!split) {
      const std::shared_ptr<Graph> graph = subgraph_->copy();
      std::vector<size_t> parts = splitSequence(*graph, items);
      known = split = std::make_shared<Launch::Split>(interpretSubgraph(*graph, {}, compileFused), std::move(parts));
    }
    return split;
  }

  static bool compilesNow() { return options::kernels() != KernelMode::Background; }

  std::vector<at::Tensor> tensorsOf(const c10::IValue* inputs) const {
    std::vector<at::Tensor> tensors;
    for (const size_t input : sequence_.tensors) tensors.push_back(inputs[input].toTensor());
    return tensors;
  }

  /// A group is compared with its operators, each in a kernel of its own, and these with ATen; a sequence with its
  /// groups, which are checked where they run.
  void runChecked(const Launch& launch, std::vector<c10::IValue>& stack, size_t num_inputs) const {
    const std::vector<c10::IValue> inputs(stack.end() - static_cast<std::ptrdiff_t>(num_inputs), stack.end());
    std::vector<c10::IValue> expected = inputs;
    const std::vector<at::Tensor> tensors = tensorsOf(inputs.data());
    const bool by_aten = is_group_ && !separate_;
    if (separate_) {
      separate_->call(expected, num_inputs);
    } else if (by_aten) {
      const WithoutOperatorKernels without_kernels;
      unfused_->call(expected, num_inputs);
    } else {
      unfused_->call(expected, num_inputs);
    }
    const bool done = launch.run(sequence_, stack, num_inputs, are_new_);
    CRESSET_CHECK(done, "a kernel refuses indices that its operators take:\n" + launch.toString());
    const size_t first = stack.size() - expected.size();
    for (size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor &a = stack[first + i].toTensor(), &b = expected[i].toTensor();
      const Tolerance tolerance = by_aten ? toleranceOf(group(), a, tensors) : Tolerance{};
      const std::string difference = firstDifference(a, b, tolerance);
      const bool has_functions = tolerance.ulps > 0 && !group().reduces;
      if (!difference.empty() && has_functions && isAsAccurate(a, b, withDoubles(inputs)[i].toTensor())) continue;
      CRESSET_CHECK(
          difference.empty(), "a kernel differs from its operators (output " + std::to_string(i) + ", " + difference +
                                  "):\n" + launch.toString());
    }
  }

  /// What ATen computes of the inputs if they have 64 bits.
  std::vector<c10::IValue> withDoubles(std::vector<c10::IValue> stack) const {
    const WithoutOperatorKernels without_kernels;
    for (c10::IValue& input : stack) {
      if (input.isTensor() && input.toTensor().is_floating_point()) input = input.toTensor().to(at::kDouble);
    }
    unfused_->call(stack, stack.size());
    return stack;
  }

  const bool is_group_;
  const std::vector<bool> are_new_;  // see areNew
  const codegen::Sequence sequence_;
  std::shared_ptr<const CompiledSubgraph> unfused_;   // operators; of a sequence groups
  std::shared_ptr<const CompiledSubgraph> separate_;  // a kernel per operator; if they are checked
  std::shared_ptr<const Graph> subgraph_;             // of a sequence
  mutable std::mutex mutex_;                          // of writers
  mutable std::map<std::vector<size_t>, std::weak_ptr<const Launch::Split>> splits_;  // of launches; per items refused
  mutable std::array<std::atomic<const Launch*>, kMaxLaunches> launches_{};
  mutable std::vector<std::shared_ptr<const Launch>> recent_;  // the last that was asked for first
};

}  // namespace

void waitForCompilation() {
  waitForKernels();
}

KernelCounts kernelCounts() {
  return {
      numCompiledKernels(), num_launches.load(std::memory_order_relaxed), num_unfused.load(std::memory_order_relaxed),
      numOperatorKernelCalls()};
}

LaunchReport reportLaunches(const CompiledSubgraph& subgraph) {
  const auto* fused = dynamic_cast<const FusedSubgraph*>(&subgraph);
  return fused ? fused->report() : LaunchReport();
}

std::shared_ptr<const CompiledSubgraph> compileFused(const Node& subgraph) {
  try {
    return std::make_shared<FusedSubgraph>(
        *subgraph.g(attr::Subgraph), isSubgraph(subgraph, SubgraphKind::Fused), areNew(subgraph));
  } catch (const codegen::Unsupported& unsupported) {
    CRESSET_CHECK(options::kernels() != KernelMode::Check, "a group that no kernel computes: " + unsupported.reason);
    return nullptr;  // it is interpreted
  }
}

}  // namespace cresset
