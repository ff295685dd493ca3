#include "cresset/passes/rewrite_rules.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"

namespace cresset {
namespace {

using Kind = Expression::Kind;

bool isOperator(const Expression& e) {
  return e.kind == Kind::Call && e.text.find("::") != std::string_view::npos;
}

const Operator* operatorOrNull(const Node* node) {
  return isStructural(node->kind()) ? nullptr : operatorOf(*node);
}

// ---- Checks of lines ----

class LineChecker {
 public:
  explicit LineChecker(std::string_view line) : line_(line) {}

  void checkPattern(const Expression& e) {
    switch (e.kind) {
      case Kind::Name:
        names_.push_back(e.text);
        return;
      case Kind::Integer:
      case Kind::None:
      case Kind::True:
      case Kind::False:
        return;
      case Kind::Call:
        checkOperator(e);
        for (const Expression& child : e.children) checkPattern(child);
        return;
      default:
        fail("a pattern is made of operators, constants and names");
    }
  }

  void checkResult(const Expression& e) const {
    switch (e.kind) {
      case Kind::Integer:
      case Kind::None:
      case Kind::True:
      case Kind::False:
        return;
      case Kind::Name:
        return checkName(e);
      case Kind::Call:
        if (!isOperator(e)) return checkFunction(e);
        checkOperator(e);
        for (const Expression& child : e.children) checkResult(child);
        return;
      default:
        fail("a result is a name, a constant or a call");
    }
  }

  void checkCondition(const Expression& e) const {
    const bool connects =
        (e.kind == Kind::Binary && (e.text == "and" || e.text == "or")) || (e.kind == Kind::Unary && e.text == "not");
    if (!connects) return checkFunction(e);
    for (const Expression& child : e.children) checkCondition(child);
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw std::invalid_argument("rewrite rule \"" + std::string(line_) + "\": " + message);
  }

 private:
  void checkOperator(const Expression& e) const {
    const std::string name(e.text);
    const Operator* op = isOperator(e) ? OperatorTable::get().find(name) : nullptr;
    if (!op) fail("there is no operator " + name);
    const auto& schema = op->schema();
    if (schema.arguments().size() != e.children.size() || schema.returns().size() != 1)
      fail(name + " takes " + std::to_string(schema.arguments().size()) + " arguments, and has to return one value");
  }

  void checkFunction(const Expression& e) const {
    const RewriteFunction* function = e.kind == Kind::Call ? rewriteFunction(e.text) : nullptr;
    if (!function) fail("there is no function " + std::string(e.text));
    if (e.children.size() != function->num_values)
      fail(std::string(e.text) + " takes " + std::to_string(function->num_values) + " values");
    for (const Expression& child : e.children) {
      if (child.kind == Kind::Text && function->takes_text && &child == &e.children.back()) continue;
      if (child.kind != Kind::Name) fail(std::string(e.text) + " takes names of the pattern");
      checkName(child);
    }
  }

  void checkName(const Expression& e) const {
    if (e.text == "_" || std::find(names_.begin(), names_.end(), e.text) == names_.end())
      fail("the pattern has no " + std::string(e.text));
  }

  std::string_view line_;
  std::vector<std::string_view> names_;
};

// ---- Matching ----

class Match {
 public:
  Match(Node* root, const AskIfWritten& is_written) : root_(root), is_written_(is_written) {}

  bool matchArguments(const Expression& pattern, const Node* node) {
    if (node->inputs().size() != pattern.children.size() || node->outputs().size() != 1) return false;
    for (size_t i = 0; i < pattern.children.size(); ++i) {
      if (!matchValue(pattern.children[i], node->input(i))) return false;
    }
    return true;
  }

  /// Whether nothing writes to what the nodes in the middle of the pattern return.
  bool isStable() const {
    return std::none_of(inner_.begin(), inner_.end(), [&](const Value* value) { return is_written_(value); });
  }

  /// The constant that a function computes; nothing if it can't tell.
  std::optional<c10::IValue> call(const Expression& e) const {
    RewriteArguments arguments{{}, {}, is_written_};
    for (const Expression& child : e.children) {
      if (child.kind == Kind::Text) {
        arguments.text = child.text;
      } else {
        arguments.values.push_back(find(child.text));
      }
    }
    return rewriteFunction(e.text)->compute(arguments);
  }

  /// Nothing if a function can't tell.
  std::optional<bool> holds(const Expression& condition) const {
    if (condition.kind == Kind::Call) {
      const auto answer = call(condition);
      return answer && answer->isBool() ? std::optional(answer->toBool()) : std::nullopt;
    }
    const auto first = holds(condition.children[0]);
    if (condition.kind == Kind::Unary) return first ? std::optional(!*first) : std::nullopt;
    const bool settles = condition.text == "or";
    if (first == settles) return settles;
    const auto second = holds(condition.children[1]);
    return second == settles || first ? second : std::nullopt;
  }

  /// Null if a function can't tell.
  Value* build(const Expression& result) const {
    switch (result.kind) {
      case Kind::Name:
        return find(result.text);
      case Kind::Integer:
        return insertConstantBefore(root_, result.integer);
      case Kind::True:
      case Kind::False:
        return insertConstantBefore(root_, result.kind == Kind::True);
      case Kind::None:
        return insertConstantBefore(root_, c10::IValue());
      default:
        break;
    }
    if (!isOperator(result)) {
      const auto constant = call(result);
      return constant ? insertConstantBefore(root_, *constant) : nullptr;
    }
    std::vector<Value*> inputs;
    for (const Expression& child : result.children) {
      inputs.push_back(build(child));
      if (!inputs.back()) return nullptr;
    }
    Graph& graph = root_->graph();
    const InsertPointGuard guard(graph, root_);
    const Operator* op = OperatorTable::get().find(std::string(result.text));
    Node* node = graph.insertNode(graph.create(op->kind(), inputs, 1))->copyLocation(root_);
    operatorOf(*node);
    node->output()->setType(resultTypes(*node).at(0));
    return node->output();
  }

 private:
  bool matchValue(const Expression& pattern, Value* value) {
    if (pattern.kind == Kind::Name) {
      if (pattern.text == "_") return true;
      if (const Value* bound = find(pattern.text)) return bound == value;
      values_.emplace_back(pattern.text, value);
      return true;
    }
    if (pattern.kind != Kind::Call) return matchConstant(pattern, value);
    const Node* node = value->node();
    const Operator* op = operatorOrNull(node);
    if (!op || op->fullName() != pattern.text || !matchArguments(pattern, node)) return false;
    const c10::TypeKind kind = value->type()->kind();
    const bool is_scalar =
        kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::BoolType;
    if (!is_scalar) inner_.push_back(value);
    return true;
  }

  static bool matchConstant(const Expression& pattern, const Value* value) {
    const auto constant = toIValue(value);
    if (!constant) return false;
    if (pattern.kind == Kind::None) return constant->isNone();
    if (pattern.kind == Kind::Integer) return constant->isInt() && constant->toInt() == pattern.integer;
    return constant->isBool() && constant->toBool() == (pattern.kind == Kind::True);
  }

  Value* find(std::string_view name) const {
    for (const auto& [bound, value] : values_) {
      if (bound == name) return value;
    }
    return nullptr;
  }

  Node* root_;
  const AskIfWritten& is_written_;
  std::vector<std::pair<std::string_view, Value*>> values_;
  std::vector<const Value*> inner_;
};

constexpr std::string_view kLines[] = {
#define RULE(line) line,
#include "cresset/passes/rewrite_rules.def"
};

}  // namespace

RewriteRules::Rule RewriteRules::parse(std::string_view line) {
  static constexpr std::string_view kArrow = " -> ", kIf = " if ";
  LineChecker checker(line);
  const size_t arrow = line.find(kArrow);
  if (arrow == std::string_view::npos) checker.fail("expected `pattern -> result`");
  const std::string_view rest = line.substr(arrow + kArrow.size());
  const size_t condition = rest.find(kIf);
  const auto expression = [&](std::string_view text) {
    auto list = parseExpressions(text);
    if (!list.assignments.empty() || list.results.size() != 1) checker.fail("expected one expression");
    return std::move(list.results[0]);
  };
  Rule rule{line, expression(line.substr(0, arrow)), expression(rest.substr(0, condition)), std::nullopt};
  if (!isOperator(rule.pattern)) checker.fail("a pattern is a call of an operator");
  checker.checkPattern(rule.pattern);
  checker.checkResult(rule.result);
  if (condition != std::string_view::npos) {
    rule.condition = expression(rest.substr(condition + kIf.size()));
    checker.checkCondition(*rule.condition);
  }
  return rule;
}

RewriteRules::RewriteRules(std::span<const std::string_view> lines) {
  for (const std::string_view line : lines) {
    Rule rule = parse(line);
    rules_[rule.pattern.text].push_back(std::move(rule));
  }
}

const RewriteRules& RewriteRules::get() {
  static const auto* rules = new RewriteRules(kLines);
  return *rules;
}

std::vector<std::string_view> RewriteRules::unused() const {
  std::vector<std::string_view> lines;
  for (const auto& [op, rules] : rules_) {
    for (const Rule& rule : rules) {
      if (!rule.has_held->load(std::memory_order_relaxed)) lines.push_back(rule.line);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

Value* RewriteRules::apply(Node* node, const AskIfWritten& is_written) const {
  const Operator* op = operatorOrNull(node);
  const auto found = op ? rules_.find(op->fullName()) : rules_.end();
  if (found == rules_.end()) return nullptr;
  for (const Rule& rule : found->second) {
    Match match(node, is_written);
    if (!match.matchArguments(rule.pattern, node)) continue;
    // What writes to values takes longest to find out.
    const bool computes = rule.result.kind == Kind::Call && !isOperator(rule.result);
    const auto constant = computes ? match.call(rule.result) : std::nullopt;
    if (computes && !constant) continue;
    if ((rule.condition && match.holds(*rule.condition) != true) || !match.isStable()) continue;
    Value* value = constant ? insertConstantBefore(node, *constant) : match.build(rule.result);
    if (!value) continue;
    rule.has_held->store(true, std::memory_order_relaxed);
    if (!isOperator(rule.result)) return value;
    // Another rule may hold of the new node.
    Value* simpler = apply(value->node(), is_written);
    if (!simpler) return value;
    value->node()->destroy();
    return simpler;
  }
  return nullptr;
}

}  // namespace cresset
