#include "cresset/autodiff/derivatives.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cresset/frontend/compiler.h"
#include "cresset/passes/pipeline.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

struct Rule {
  std::string_view op;        // full name
  std::string_view argument;  // whose gradient it is; "" for a decomposition
  std::string_view expression;
};

constexpr Rule kRules[] = {
#define GRADIENT(op, argument, expression) {op, #argument, expression},
#define DECOMPOSITION(op, expression) {op, "", expression},
#include "cresset/autodiff/derivatives.def"
#undef GRADIENT
#undef DECOMPOSITION
};

struct RequiredRank {
  std::string_view op, argument;
  size_t rank;
};

constexpr RequiredRank kRequiredRanks[] = {
    {"aten::linear", "weight", 2},
};

/// What rules share. The gradient of a factor of a matrix product is laid out as the factor is (`left`, `right`).
constexpr std::string_view kPrelude = R"(
def reduced(grad: Tensor, like: Tensor) -> Tensor:
  return torch._grad_sum_to_size(grad, like.size())

def unreduced(grad: Tensor, like: Tensor, dims: Optional[List[int]], keepdim: bool) -> Tensor:
  if not keepdim and like.dim() != 0 and dims is not None:
    rank = like.dim()
    kept: List[int] = []
    for d in dims:
      kept.append(d + rank if d < 0 else d)
    for d in range(rank):
      if d in kept:
        grad = grad.unsqueeze(d)
  return grad.expand(like.size())

def count(like: Tensor, dims: Optional[List[int]]) -> int:
  if dims is None or len(dims) == 0 or like.dim() == 0:
    return like.numel()
  size = 1
  for d in dims:
    size *= like.size(d)
  return size

def left(grad: Tensor, right: Tensor, like: Tensor) -> Tensor:
  if like.stride(0) == 1 and like.stride(1) == like.size(0):
    return right.mm(grad.t()).t()
  return grad.mm(right.t())

def right(grad: Tensor, left: Tensor, like: Tensor) -> Tensor:
  if like.stride(0) == 1 and like.stride(1) == like.size(0):
    return grad.t().mm(left).t()
  return left.t().mm(grad)

def rows(x: Tensor) -> Tensor:
  if x.dim() == 2:
    return x
  if x.dim() == 1:
    return x.unsqueeze(0)
  return x.flatten(0, -2)

def inverse(dims: List[int]) -> List[int]:
  rank = len(dims)
  result = [0] * rank
  for i in range(rank):
    d = dims[i]
    result[d + rank if d < 0 else d] = i
  return result
)";

class RuleBook {
 public:
  static RuleBook& get() {
    static auto* book = new RuleBook;
    return *book;
  }

  const std::unordered_map<std::string_view, std::vector<const Rule*>>& rules() const { return rules_; }

  std::shared_ptr<const Graph> find(const Operator& op, std::string_view argument) {
    const auto rules = rules_.find(op.fullName());
    if (rules == rules_.end()) return nullptr;
    for (const Rule* rule : rules->second) {
      if (rule->argument == argument) return compileRule(op, *rule);
    }
    return nullptr;
  }

 private:
  RuleBook() {
    for (const Rule& rule : kRules) rules_[rule.op].push_back(&rule);
  }

  std::shared_ptr<const Graph> compileRule(const Operator& op, const Rule& rule) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Graph>& graph = graphs_[&rule];
    if (graph) return graph;
    if (!program_) {
      program_ = Program::make();
      defineSource(*program_, std::make_shared<const Source>(std::string(kPrelude), "<derivatives>"), {});
    }
    const bool is_gradient = !rule.argument.empty();
    std::string text = "def rule" + std::to_string(graphs_.size()) + "(";
    const auto& schema = op.schema();
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      text += (i ? ", " : "") + argument.name() + ": " + argument.type()->annotation_str();
    }
    if (is_gradient) {
      const size_t count = schema.returns().size();
      const auto number = [&](size_t i) { return count > 1 ? std::to_string(i) : std::string(); };
      for (size_t i = 0; i < count; ++i)
        text += ", result" + number(i) + ": " + schema.returns()[i].type()->annotation_str();
      for (size_t i = 0; i < count; ++i)
        text += ", grad" + number(i) + ": " + schema.returns()[i].type()->annotation_str();
    }
    text += "):\n  return " + std::string(rule.expression) + "\n";
    try {
      auto functions =
          defineSource(*program_, std::make_shared<const Source>(text, "<derivative of " + op.fullName() + ">"), {});
      auto compiled = functions.at(0)->graph()->copy();
      Pipeline passes(*compiled, op.fullName());
      passes.run("inline");
      graph = std::move(compiled);
    } catch (const std::exception& error) {
      throw InternalError("the derivative of " + op.fullName() + " does not compile: " + error.what());
    }
    return graph;
  }

  std::unordered_map<std::string_view, std::vector<const Rule*>> rules_;
  std::mutex mutex_;
  std::shared_ptr<Program> program_;
  std::map<const Rule*, std::shared_ptr<Graph>> graphs_;
};

}  // namespace

bool hasDerivative(const Operator& op) {
  const auto& rules = RuleBook::get().rules();
  const auto found = rules.find(op.fullName());
  return found != rules.end() && std::any_of(found->second.begin(), found->second.end(), [](const Rule* rule) {
           return !rule->argument.empty();
         });
}

bool hasRequiredRanks(const Operator& op, const Node& node) {
  return std::all_of(std::begin(kRequiredRanks), std::end(kRequiredRanks), [&](const RequiredRank& required) {
    if (required.op != op.fullName()) return true;
    const auto index = op.schema().argumentIndexWithName(std::string(required.argument));
    const auto type = node.input(static_cast<size_t>(index.value()))->type()->cast<c10::TensorType>();
    return type && type->dim() == required.rank;
  });
}

std::shared_ptr<const Graph> gradientOf(const Operator& op, size_t argument) {
  return RuleBook::get().find(op, op.schema().arguments().at(argument).name());
}

std::shared_ptr<const Graph> decompositionOf(const Operator& op) {
  return RuleBook::get().find(op, "");
}

std::vector<std::string> differentiableOperators() {
  std::vector<std::string> names;
  for (const auto& [name, rules] : RuleBook::get().rules()) {
    if (std::any_of(rules.begin(), rules.end(), [](const Rule* rule) { return !rule->argument.empty(); }))
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cresset
