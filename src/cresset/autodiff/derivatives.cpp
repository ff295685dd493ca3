#include "cresset/autodiff/derivatives.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cresset/analysis/gradients.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/autodiff/formulas.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"
#include "cresset/support/numerics.h"

namespace cresset {

namespace {

/// What conditions ask of a call.
class Call {
 public:
  Call(const Operator& op, const Node& node) : op_(op), node_(node) {}

  /// The rank of a tensor, if it is known.
  std::optional<size_t> rank(std::string_view argument) const { return rankOf(value(argument)); }

  /// Whether the operand is a list that the graph makes, of tensors of one known rank.
  bool haveOneRank(std::string_view argument, size_t at_least = 0) const {
    const Node* list = value(argument)->node();
    if (list->kind() != prim::ListConstruct || list->inputs().empty() || !rankOf(list->input(0))) return false;
    if (*rankOf(list->input(0)) < at_least) return false;
    const auto elements = list->inputs();
    return std::all_of(
        elements.begin(), elements.end(), [&](const Value* e) { return rankOf(e) == rankOf(list->input(0)); });
  }

  /// Whether the tensors, and those of lists that the graph makes, are of one known dtype.
  bool haveOneDtype(std::initializer_list<std::string_view> arguments) const {
    std::optional<at::ScalarType> dtype;
    const auto agrees = [&](const Value* tensor) {
      const auto type = tensor->type()->cast<c10::TensorType>();
      if (!type || !type->scalarType() || (dtype && dtype != type->scalarType())) return false;
      dtype = type->scalarType();
      return true;
    };
    return std::all_of(arguments.begin(), arguments.end(), [&](std::string_view argument) {
      const Value* operand = value(argument);
      if (operand->node()->kind() != prim::ListConstruct) return agrees(operand);
      const auto elements = operand->node()->inputs();
      return !elements.empty() && std::all_of(elements.begin(), elements.end(), agrees);
    });
  }

  /// Whether both tensors are known to be on one device.
  bool haveOneDevice(std::string_view a, std::string_view b) const { return deviceOf(a) && deviceOf(a) == deviceOf(b); }

  /// Whether the result is on the device of the tensor: `device` is None, or that one.
  bool keepsDevice(std::string_view tensor, std::string_view device) const {
    if (isNone(device)) return true;
    const auto wanted = knownValue(*value(device));
    return wanted && wanted->isDevice() && deviceOf(tensor) == wanted->toDevice();
  }

  /// Whether the graph computes it. Only a tensor from outside says in a region that it requires a
  /// gradient.
  bool isComputed(std::string_view argument) const {
    const Node* node = value(argument)->node();
    return node->kind() != prim::Param || node->owningBlock()->owningNode();
  }
  bool mayRequireGrad(std::string_view argument) const { return cresset::mayRequireGrad(value(argument)->type()); }
  /// Of what may be None or not neither is true.
  bool isNone(std::string_view argument) const { return isNoneConstant(value(argument)); }
  bool isGiven(std::string_view argument) const {
    const c10::TypeKind kind = value(argument)->type()->kind();
    return kind != c10::TypeKind::OptionalType && kind != c10::TypeKind::NoneType;
  }

  /// Whether the result is used, by operators with a scalar body alone, which is no reduction.
  bool isTakenByKernels() const {
    const auto uses = node_.output(0)->uses();
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [](const Use& use) {
      const OperatorRow* row = scalarRowOf(*use.user);
      return row && row->reduces.empty();
    });
  }

  /// Whether an operator with a scalar body computes the tensor for this call alone.
  bool isComputedByKernels(std::string_view argument) const {
    return scalarRowOf(*value(argument)->node()) && value(argument)->uses().size() == 1;
  }

  bool hasUses(size_t result) const { return node_.output(result)->hasUses(); }

  bool isFloatingPoint(std::string_view argument) const {
    const auto type = value(argument)->type()->cast<c10::TensorType>();
    return type && type->scalarType() && at::isFloatingType(*type->scalarType());
  }

  /// Whether each tensor is None, or has one dimension.
  bool areVectors(std::initializer_list<std::string_view> arguments) const {
    return std::all_of(arguments.begin(), arguments.end(), [&](std::string_view argument) {
      return isNone(argument) || rank(argument) == 1U;
    });
  }

  /// Whether the target has a class for each element along the other dimensions of the first tensor than the second.
  bool isOfClasses(std::string_view values, std::string_view target, std::string_view weight) const {
    return rank(values) > 1U && rank(target) == *rank(values) - 1 && dtypeOf(target) == at::kLong &&
           areVectors({weight});
  }

  /// Whether the tensors that are not None have one dtype, float32 or float64, and no gradient flows through the call:
  /// then parts of the operator need not have its bits, with this program's numerics.
  bool mayHaveOwnBits(std::initializer_list<std::string_view> arguments) const {
    const auto outputs = node_.outputs();
    if (std::any_of(outputs.begin(), outputs.end(), [](const Value* output) {
          return cresset::mayRequireGrad(output->type());
        }))
      return false;
    std::optional<at::ScalarType> dtype;
    for (const std::string_view argument : arguments) {
      if (isNone(argument)) continue;
      const auto type = value(argument)->type()->cast<c10::TensorType>();
      if (!type || !type->scalarType()) return false;
      if (dtype && dtype != type->scalarType()) return false;
      dtype = type->scalarType();
    }
    return !wantsExactNumerics() && (dtype == at::kFloat || dtype == at::kDouble);
  }

  bool areAllTrue(std::string_view argument) const {
    const auto known = knownValue(*value(argument));
    if (!known || !known->isList()) return false;
    const auto elements = known->toListRef();
    return std::all_of(elements.begin(), elements.end(), [](const c10::IValue& element) { return element.toBool(); });
  }

  /// Whether a list of bools says True of each result that is used.
  bool areWanted(std::string_view argument) const {
    const auto known = knownValue(*value(argument));
    if (!known || !known->isList()) return false;
    const auto elements = known->toListRef();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!elements[i].toBool() && hasUses(i)) return false;
    }
    return elements.size() == node_.outputs().size();
  }

  /// The length of a list, if it is known.
  std::optional<size_t> length(std::string_view argument) const {
    if (value(argument)->node()->kind() == prim::ListConstruct) return value(argument)->node()->inputs().size();
    const auto known = toIValue(value(argument));
    return known && known->isList() ? std::optional<size_t>(known->toListRef().size()) : std::nullopt;
  }

  /// Whether the equation of an einsum is known, has an arrow, and each letter once in each operand, of one or two; and
  /// the operands' ranks are known; of two operands, that some letter is summed over.
  bool isSimpleEinsum(std::string_view equation, std::string_view tensors) const {
    return hasLettersOnce(equation, tensors) && (length(tensors) == 1 || sumsOverLetters(equation));
  }

  /// The same of two operands of which no letter is summed over: they are multiplied, and their gradients summed after
  /// that.
  bool isOuterEinsum(std::string_view equation, std::string_view tensors) const {
    return hasLettersOnce(equation, tensors) && length(tensors) == 2 && !sumsOverLetters(equation);
  }

  /// Whether a tensordot is a product of matrices: ranks, dtypes and dimensions are known, and some dimension is left.
  bool isContraction(
      std::string_view self, std::string_view other, std::string_view dims_self, std::string_view dims_other) const {
    const auto left = rank(self), right = rank(other);
    const auto of_left = knownInts(dims_self), of_right = knownInts(dims_other);
    if (!left || !right || !of_left || !of_right || of_left->size() != of_right->size()) return false;
    const auto areDistinct = [](std::vector<int64_t> dims, size_t rank) {
      const auto size = static_cast<int64_t>(rank);
      for (int64_t& dim : dims) {
        if (dim < -size || dim >= size) return false;
        if (dim < 0) dim += size;
      }
      std::sort(dims.begin(), dims.end());
      return std::adjacent_find(dims.begin(), dims.end()) == dims.end();
    };
    return *left + *right > 2 * of_left->size() && areDistinct(*of_left, *left) && areDistinct(*of_right, *right) &&
           dtypeOf(self) && dtypeOf(self) == dtypeOf(other);
  }

  template <typename T>
  std::optional<T> constant(std::string_view argument) const {
    const auto known = toIValue(value(argument));
    return known && !known->isNone() ? std::optional<T>(known->to<T>()) : std::nullopt;
  }

 private:
  /// Null if the node calls no operator with a scalar body, or one that makes a product of matrices.
  static const OperatorRow* scalarRowOf(const Node& node) {
    const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
    const OperatorRow* row = op ? findOperatorRow(op->fullName()) : nullptr;
    return row && !row->scalar.empty() && row->contracts.empty() ? row : nullptr;
  }

  bool hasLettersOnce(std::string_view equation, std::string_view tensors) const {
    const auto text = constant<std::string>(equation);
    const Node* list = value(tensors)->node();
    if (!text || list->kind() != prim::ListConstruct || list->inputs().empty() || list->inputs().size() > 2)
      return false;
    const size_t arrow = text->find("->");
    if (arrow == std::string::npos || text->find('.') != std::string::npos) return false;
    size_t operand = 0;
    std::string seen;
    const auto ends = [&] {
      const auto rank = operand < list->inputs().size() ? rankOf(list->input(operand)) : std::nullopt;
      ++operand;
      return rank == seen.size();
    };
    for (const char c : text->substr(0, arrow)) {
      if (c == ' ') continue;
      if (c == ',') {
        if (!ends()) return false;
        seen.clear();
      } else if (seen.find(c) != std::string::npos) {
        return false;
      } else {
        seen += c;
      }
    }
    return ends() && operand == list->inputs().size();
  }

  std::optional<std::vector<int64_t>> knownInts(std::string_view argument) const {
    const auto known = knownValue(*value(argument));
    return known && known->isIntList() ? std::optional(known->toIntVector()) : std::nullopt;
  }

  /// Of an equation that has an arrow.
  bool sumsOverLetters(std::string_view equation) const {
    const auto text = constant<std::string>(equation).value();
    const size_t arrow = text.find("->");
    const std::string left = text.substr(0, arrow), right = text.substr(arrow + 2);
    return std::any_of(
        left.begin(), left.end(), [&](char c) { return c != ' ' && c != ',' && right.find(c) == std::string::npos; });
  }

  const Value* value(std::string_view argument) const {
    return node_.input(static_cast<size_t>(op_.schema().argumentIndexWithName(std::string(argument)).value()));
  }
  static std::optional<size_t> rankOf(const Value* value) {
    const auto type = value->type()->cast<c10::TensorType>();
    return type ? type->dim() : std::nullopt;
  }
  std::optional<at::ScalarType> dtypeOf(std::string_view argument) const {
    const auto type = value(argument)->type()->cast<c10::TensorType>();
    return type ? type->scalarType() : std::nullopt;
  }
  std::optional<c10::Device> deviceOf(std::string_view argument) const {
    const auto type = value(argument)->type()->cast<c10::TensorType>();
    return type ? type->device() : std::nullopt;
  }

  const Operator& op_;
  const Node& node_;
};

using Condition = bool (*)(const Call& call);

struct RuleText {
  std::string_view op;         // full name
  std::string_view arguments;  // whose gradients it returns: "self", "(input, weight)"; "" for a decomposition
  std::string_view expression;
  Condition condition = nullptr;  // of a decomposition
  bool for_kernels = false;       // a decomposition that kernels compute better
};

/// The columns of derivatives, row by row.
struct Column {
  enum class Kind { Operator, Gradient, Decomposition, KernelDecomposition, Condition, Results } kind;
  std::string_view text, expression;
  Condition condition = nullptr;
  size_t count = 0;
};

constexpr Column kColumns[] = {
#define OPERATOR(name) {Column::Kind::Operator, name, {}},
#define GRADIENT(argument, expression) {Column::Kind::Gradient, #argument, expression},
#define DECOMPOSITION(condition, expression) \
  {Column::Kind::Decomposition, {}, expression, []([[maybe_unused]] const Call& call) -> bool { return condition; }},
#define DECOMPOSES_FOR_KERNELS(condition, expression)                                                 \
  {Column::Kind::KernelDecomposition, {}, expression, []([[maybe_unused]] const Call& call) -> bool { \
     return condition;                                                                                \
   }},
#define GRADIENTS_IF(condition) \
  {Column::Kind::Condition, {}, {}, []([[maybe_unused]] const Call& call) -> bool { return condition; }},
#define RESULTS_WITH_GRADIENTS(count) {Column::Kind::Results, {}, {}, nullptr, count},
#include "cresset/ops/table/table.def"
};

struct Rule {
  RuleText text;
  std::vector<std::string_view> arguments;

  explicit Rule(const RuleText& rule) : text(rule) {
    std::string_view rest = rule.arguments;
    while (!rest.empty()) {
      const size_t begin = std::min(rest.find_first_not_of("(, "), rest.size());
      const size_t end = std::min(rest.find_first_of("), ", begin), rest.size());
      if (end > begin) arguments.push_back(rest.substr(begin, end - begin));
      rest.remove_prefix(end);
      if (begin == end) break;
    }
  }
  bool isGradient() const { return !arguments.empty(); }
  bool computesGradientOf(std::string_view argument) const {
    return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
  }
};

class RuleBook {
 public:
  static RuleBook& get() {
    static auto* book = new RuleBook;
    return *book;
  }

  const std::unordered_map<std::string_view, std::vector<const Rule*>>& rules() const { return rules_; }

  /// The rule for the argument's gradient; null if there is none.
  const Rule* find(const Operator& op, std::string_view argument) const {
    const auto& rules = rulesOf(op);
    const auto found =
        std::find_if(rules.begin(), rules.end(), [&](const Rule* rule) { return rule->computesGradientOf(argument); });
    return found == rules.end() ? nullptr : *found;
  }

  /// In-place reuses without rules of their own have those of the operators that return a new tensor.
  const std::vector<const Rule*>& rulesOf(const Operator& op) const {
    static const std::vector<const Rule*> kNone;
    auto found = rules_.find(op.fullName());
    if (found == rules_.end() && op.isInPlaceReuse() && !op.inPlaceDerivativeDiffers())
      found = rules_.find(op.functionalName());
    return found == rules_.end() ? kNone : found->second;
  }

  Condition condition(const Operator& op) const {
    auto found = conditions_.find(op.fullName());
    if (found == conditions_.end() && op.isInPlaceReuse()) found = conditions_.find(op.functionalName());
    return found == conditions_.end() ? nullptr : found->second;
  }

  size_t resultsWithGradients(const Operator& op) const {
    const auto found = results_.find(op.fullName());
    return found == results_.end() ? op.schema().returns().size() : found->second;
  }

  const GradientRule& compileRule(const Operator& op, const Rule& rule) {
    const std::lock_guard lock(mutex_);
    GradientRule& compiled = compiled_[&rule];
    if (compiled.graph) return compiled;
    if (!program_) {
      program_ = Program::make();
      declareSource(*program_, std::make_shared<const Source>(allFormulas(), "<derivatives>"), {});
    }
    const std::string text = textOf(op, rule, "rule" + std::to_string(compiled_.size()));
    try {
      auto functions =
          defineSource(*program_, std::make_shared<const Source>(text, "<derivative of " + op.fullName() + ">"), {});
      auto graph = functions.at(0)->graph()->copy();
      inlineRule(*graph, op.fullName());
      const size_t num_results = rule.isGradient() ? rule.arguments.size() : op.schema().returns().size();
      if (num_results > 1) giveElements(*graph, num_results);
      compiled.arguments.clear();
      for (const std::string_view argument : rule.arguments)
        compiled.arguments.push_back(
            static_cast<size_t>(op.schema().argumentIndexWithName(std::string(argument)).value()));
      compiled.graph = std::move(graph);
    } catch (const std::exception& error) {
      throw InternalError("the derivative of " + op.fullName() + " does not compile: " + error.what());
    }
    return compiled;
  }

 private:
  RuleBook() {
    std::string_view op;
    for (const Column& column : kColumns) {
      switch (column.kind) {
        case Column::Kind::Operator:
          op = column.text;
          break;
        case Column::Kind::Gradient:
        case Column::Kind::Decomposition:
        case Column::Kind::KernelDecomposition:
          all_.emplace_back(RuleText{
              op, column.text, column.expression, column.condition, column.kind == Column::Kind::KernelDecomposition});
          rules_[op].push_back(&all_.back());
          break;
        case Column::Kind::Condition:
          conditions_[op] = column.condition;
          break;
        case Column::Kind::Results:
          results_[op] = column.count;
          break;
      }
    }
    for (const std::string_view name : otherNames()) {
      for (const Operator* other : OperatorTable::get().overloads(Symbol::fromQualString(std::string(name)))) {
        const Operator* same =
            other->isMutable() || rules_.contains(other->fullName()) ? nullptr : sameOperator(*other);
        if (same) addDecompositionTo(*same, *other);
      }
    }
  }

  /// An operator that is another one is decomposed into that, unless its row says more.
  void addDecompositionTo(const Operator& same, const Operator& op) {
    const std::string& name = same.schema().name();
    std::string text = "torch." + name.substr(name.find("::") + 2) + "(";
    const auto &theirs = same.schema().arguments(), &ours = op.schema().arguments();
    for (size_t i = 0; i < ours.size(); ++i)
      text += (i ? ", " : "") + (theirs[i].kwarg_only() ? theirs[i].name() + "=" : std::string()) + ours[i].name();
    const std::string_view expression = texts_.emplace_back(text + ")");
    all_.emplace_back(RuleText{op.fullName(), {}, expression, [](const Call&) { return true; }});
    rules_[op.fullName()].push_back(&all_.back());
  }

  /// The source of a function that evaluates the rule.
  static std::string textOf(const Operator& op, const Rule& rule, const std::string& name) {
    std::string text = "def " + name + "(";
    const auto& schema = op.schema();
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      // An operator that computes a gradient has one among its own arguments.
      const std::string parameter = argument.name() == "grad" ? "grad_argument" : argument.name();
      text += (i ? ", " : "") + parameter + ": " + argument.type()->annotation_str();
    }
    if (rule.isGradient()) {
      const size_t count = schema.returns().size();
      const auto number = [&](size_t i) { return count > 1 ? std::to_string(i) : std::string(); };
      for (size_t i = 0; i < count; ++i)
        text += ", result" + number(i) + ": " + schema.returns()[i].type()->annotation_str();
      for (size_t i = 0; i < count; ++i)
        text += ", grad" + number(i) + ": " + schema.returns()[i].type()->annotation_str();
    }
    if (rule.isGradient() && schema.returns().size() > 1) text += ", given: List[bool]";
    if (rule.arguments.size() > 1) text += ", wanted: List[bool]";
    return text + "):\n  return " + std::string(rule.text.expression) + "\n";
  }

  /// A graph that returns a tuple becomes one that returns its elements.
  static void giveElements(Graph& graph, size_t count) {
    Value* tuple = graph.outputs()[0];
    const auto type = tuple->type()->cast<c10::TupleType>();
    if (!type || type->elements().size() != count)
      throw UserError("the rule returns " + tuple->type()->repr_str() + ", not " + std::to_string(count) + " values");
    graph.block()->eraseOutput(0);
    Node* made = tuple->node();
    if (made->kind() == prim::TupleConstruct) {
      for (Value* element : made->inputs()) graph.registerOutput(element);
      if (!tuple->hasUses()) made->destroy();
      return;
    }
    Node* unpack = graph.create(prim::TupleUnpack, {tuple}, count);
    graph.block()->appendNode(unpack);
    for (size_t i = 0; i < count; ++i) graph.registerOutput(unpack->output(i)->setType(type->elements()[i]));
  }

  std::deque<Rule> all_;
  std::deque<std::string> texts_;  // of rules that stand in no file
  std::unordered_map<std::string_view, std::vector<const Rule*>> rules_;
  std::unordered_map<std::string_view, Condition> conditions_;
  std::unordered_map<std::string_view, size_t> results_;
  std::mutex mutex_;
  std::shared_ptr<Program> program_;
  std::map<const Rule*, GradientRule> compiled_;
};

}  // namespace

bool hasDerivative(const Operator& op) {
  const auto& rules = RuleBook::get().rulesOf(op);
  return std::any_of(rules.begin(), rules.end(), [](const Rule* rule) { return rule->isGradient(); });
}

namespace {

/// Whether the tensors that have gradients are of one dtype: rules take the result's dtype for the promoted one, and an
/// in-place reuse has that of its first argument.
bool haveOneDtype(const Operator& op, const Node& node) {
  std::optional<at::ScalarType> dtype;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const auto type = node.input(i)->type()->cast<c10::TensorType>();
    if (!type || !RuleBook::get().find(op, op.schema().arguments()[i].name())) continue;
    if (!type->scalarType() || (dtype && dtype != type->scalarType())) return false;
    dtype = type->scalarType();
  }
  return true;
}

}  // namespace

bool rulesHold(const Operator& op, const Node& node) {
  const Condition condition = RuleBook::get().condition(op);
  return (!condition || condition(Call(op, node))) && (!op.isInPlaceReuse() || haveOneDtype(op, node));
}

size_t resultsWithGradients(const Operator& op) {
  return RuleBook::get().resultsWithGradients(op);
}

bool hasGradient(const Operator& op, size_t argument) {
  return RuleBook::get().find(op, op.schema().arguments().at(argument).name()) != nullptr;
}

const GradientRule* gradientOf(const Operator& op, size_t argument) {
  const Rule* rule = RuleBook::get().find(op, op.schema().arguments().at(argument).name());
  return rule ? &RuleBook::get().compileRule(op, *rule) : nullptr;
}

std::shared_ptr<const Graph> decompositionOf(const Operator& op, const Node& node, bool for_kernels) {
  if (op.isInPlaceReuse()) return nullptr;  // the parts would have other strides
  for (const Rule* rule : RuleBook::get().rulesOf(op)) {
    if (!rule->isGradient() && (!for_kernels || rule->text.for_kernels) && rule->text.condition(Call(op, node)))
      return RuleBook::get().compileRule(op, *rule).graph;
  }
  return nullptr;
}

bool ruleKeeps(const Graph& rule, size_t operand) {
  if (operand >= rule.inputs().size() || !mayHoldTensors(*rule.inputs()[operand]->type())) return false;
  const auto uses = rule.inputs()[operand]->uses();
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    const auto outputs = use.user->outputs();
    const bool only_asks = std::none_of(
        outputs.begin(), outputs.end(), [](const Value* output) { return mayHoldTensors(*output->type()); });
    return !only_asks || use.user->isReturn();
  });
}

namespace {

/// What rules call one of the operator's arguments or, after them, results.
std::string nameInRules(const Operator& op, size_t operand) {
  const auto& arguments = op.schema().arguments();
  if (operand < arguments.size())
    return arguments[operand].name() == "grad" ? "grad_argument" : arguments[operand].name();
  const bool is_only_one = op.schema().returns().size() == 1;
  return "result" + (is_only_one ? "" : std::to_string(operand - arguments.size()));
}

/// Whether the text of a rule shows that it asks for sizes of the tensor at most; it spares compiling the rule.
bool onlyAsksForSizes(std::string_view text, std::string_view name) {
  const auto isPartOfName = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::string_view rest = text.substr(at + name.size());
    if ((at > 0 && (isPartOfName(text[at - 1]) || text[at - 1] == '.')) || (!rest.empty() && isPartOfName(rest[0])))
      continue;
    static constexpr std::string_view kQuestions[] = {".size(", ".numel()", ".dim()", ".dtype"};
    const bool asks = std::any_of(std::begin(kQuestions), std::end(kQuestions), [&](std::string_view question) {
      return rest.starts_with(question);
    });
    // The last argument of `reduced`.
    size_t open = at;
    for (int depth = 0; open > 0 && depth <= 0;) depth += text[--open] == '(' ? 1 : text[open] == ')' ? -1 : 0;
    const std::string_view function = text.substr(0, open);
    const bool reduces = rest.starts_with(")") && text.substr(0, at).ends_with(", ") && function.ends_with("reduced") &&
                         !function.ends_with("unreduced");
    if (!asks && !reduces) return false;
  }
  return true;
}

}  // namespace

bool mayBeKept(Node* node, size_t operand) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  return op ? mayBeKeptBy(*op, node, operand) : passesGradients(node);
}

bool mayBeKeptBy(const Operator& op, const Node* node, size_t operand) {
  if (!passesGradients(node) || op.takesSizesOnly()) return false;
  const auto& rules = RuleBook::get().rulesOf(op);
  const auto inputs = node->inputs();
  if (std::none_of(inputs.begin(), inputs.end(), [](const Value* input) {
        return !isNoneConstant(input) && mayRequireGrad(input->type());
      }))
    return false;
  if (!hasDerivative(op) || op.autogradKeepsMore()) return true;
  // What several formulas share autograd keeps for each of them, and for those of several arguments all they name.
  const std::string name = nameInRules(op, operand);
  for (const Rule* rule : rules) {
    if (!rule->isGradient() || onlyAsksForSizes(rule->text.expression, name)) continue;
    if (ruleKeeps(*RuleBook::get().compileRule(op, *rule).graph, operand)) return true;
  }
  return false;
}

std::vector<std::string> derivativesThatDoNotCompile() {
  std::vector<std::string> errors;
  for (const auto& [name, rules] : RuleBook::get().rules()) {
    const Operator* op = OperatorTable::get().find(name);
    for (const Rule* rule : rules) {
      const std::string of = std::string(name) + "(" + std::string(rule->text.arguments) + "): ";
      const auto isArgument = [&](std::string_view argument) {
        return op->schema().argumentIndexWithName(std::string(argument)).has_value();
      };
      if (!op) {
        errors.push_back(of + "there is no such operator");
      } else if (!std::all_of(rule->arguments.begin(), rule->arguments.end(), isArgument)) {
        errors.push_back(of + "the operator has no such argument");
      } else {
        try {
          RuleBook::get().compileRule(*op, *rule);
        } catch (const std::exception& error) {
          errors.push_back(of + error.what());
        }
      }
    }
  }
  return errors;
}

std::vector<std::string> differentiableOperators() {
  std::vector<std::string> names;
  for (const auto& [name, rules] : RuleBook::get().rules()) {
    if (std::any_of(rules.begin(), rules.end(), [](const Rule* rule) { return rule->isGradient(); }))
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cresset
