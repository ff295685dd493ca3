// Doors to the fact column of the operator table, for the test that proves it: what a rule says of a call's results.
#include "cresset/analysis/alias.h"
#include "cresset/analysis/fact_rule.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/messages.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_description.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/python/common.h"
#include "cresset/python/graph_handles.h"
#include "cresset/support/error.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace cresset::python {

namespace {

const Operator& operatorNamed(const std::string& name) {
  const Operator* op = OperatorTable::get().find(name);
  if (!op) throw UserError(messages::noOperator(name));
  return *op;
}

/// What is left of a fact if numbers and sizes are not known before the program runs. Layouts may be known.
Fact withoutNumbers(Fact fact, bool without_ranks) {
  using Kind = Fact::Kind;
  fact.stride = Size();
  for (Fact& element : fact.elements) element = withoutNumbers(std::move(element), without_ranks);
  if (fact.kind == Kind::Int || fact.kind == Kind::Bool) fact.number = std::nullopt;
  if (fact.kind == Kind::Device) return {};
  if (fact.isTensor() && without_ranks) fact.elements.clear(), fact.has_sizes = false;
  if (fact.kind == Kind::List && without_ranks) return {};
  return fact;
}

py::object toPython(const Fact& fact) {
  switch (fact.kind) {
    case Fact::Kind::None:
      return py::str("none");
    case Fact::Kind::Tensor: {
      py::dict result;
      if (fact.dtype) result["dtype"] = py::str(c10::toString(*fact.dtype));
      if (fact.has_sizes) {
        const auto number = [](const std::optional<int64_t>& n) { return n ? py::object(py::int_(*n)) : py::none(); };
        const std::vector<Size> from_sizes = fact.contiguousStrides();
        py::list sizes, strides;
        for (size_t i = 0; i < fact.elements.size(); ++i) {
          sizes.append(number(fact.elements[i].number));
          strides.append(number((from_sizes[i].isKnown() ? from_sizes[i] : fact.elements[i].stride).asConstant()));
        }
        result["sizes"] = sizes;
        result["strides"] = strides;
      }
      if (fact.contiguity != Contiguity::Unknown) result["contiguity"] = py::str(std::string(nameOf(fact.contiguity)));
      if (fact.device) result["device"] = fact.device->str();
      if (fact.requires_grad) result["requires_grad"] = *fact.requires_grad;
      return result;
    }
    case Fact::Kind::List: {
      py::list elements;
      for (const Fact& element : fact.elements) elements.append(toPython(element));
      return elements;
    }
    case Fact::Kind::ListOf: {
      py::tuple each(1);
      each[0] = toPython(fact.elements.at(0));
      return each;
    }
    default:
      return py::none();
  }
}

/// Of a call with these arguments, of which `hide` says what is unknown: "nothing", "numbers" or "ranks" (and numbers).
py::object factsOfCall(const std::string& name, const py::sequence& arguments, const std::string& hide) {
  const Operator& op = operatorNamed(name);
  const FactRule* rule = FactRule::of(op);
  if (!rule) return py::none();
  const auto& schema = op.schema().arguments();
  std::vector<Fact> facts;
  for (size_t i = 0; i < schema.size(); ++i) {
    const auto value = i < arguments.size() ? toIValue(py::object(arguments[i]).ptr(), schema[i].type())
                                            : schema[i].default_value().value_or(c10::IValue());
    Fact fact = Fact::of(value);
    facts.push_back(hide == "nothing" ? std::move(fact) : withoutNumbers(std::move(fact), hide == "ranks"));
  }
  py::list results;
  for (const Fact& fact : rule->evaluate(op, facts)) results.append(toPython(fact));
  return results;
}

/// Which results of an operator are in new memory.
std::vector<bool> newResults(const std::string& name) {
  const Operator& op = operatorNamed(name);
  std::vector<bool> are_new;
  for (size_t i = 0; i < op.schema().returns().size(); ++i) are_new.push_back(returnsNewMemory(op, i));
  return are_new;
}

/// Whether its result is a tensor of its own that may be in the memory of its first argument.
bool isView(const Operator& op) {
  const auto& arguments = op.schema().arguments();
  const auto& returns = op.schema().returns();
  if (op.isMutable() || op.mayReturnSelf() || op.mayShareArguments()) return false;
  if (returns.size() != 1 || returns[0].type()->kind() != c10::TypeKind::TensorType || arguments.empty()) return false;
  const c10::AliasInfo *result = returns[0].alias_info(), *first = arguments[0].alias_info();
  return result && first && *result == *first;
}

/// What calls of an operator on tensors do to memory, whichever overload they choose, but for those that take `out`:
/// "new" if they write nothing and their results are in new memory; "first" if all that they do is to write to the
/// elements of their first argument; "view" if their result is always a tensor of its own that may be in the memory
/// of the first; None if none of these, or if they do more than compute.
std::optional<std::string> memoryOfCalls(const std::string& kind) {
  constexpr Trait kMore = Trait::ChangesTape | Trait::MakesLeaf | Trait::ReplacesMemory | Trait::ChangesState;
  bool all_new = true, all_first = true, all_views = true, any = false;
  for (const Operator* op : OperatorTable::get().overloads(c10::Symbol::fromQualString(kind))) {
    const auto& arguments = op->schema().arguments();
    const auto is_out = [](const c10::Argument& argument) { return argument.kwarg_only() && isWritten(argument); };
    if (!op->isOfDispatcher() || std::ranges::any_of(arguments, is_out)) continue;
    any = true;
    if (op->hasSideEffects() || !op->isDeterministic() || op->hasTrait(kMore)) return std::nullopt;
    for (size_t i = 0; i < op->schema().returns().size(); ++i) all_new = all_new && returnsNewMemory(*op, i);
    all_first = all_first && (op->keepsSizes() || op->isPointwise()) && !arguments.empty() && isWritten(arguments[0]) &&
                std::ranges::count_if(arguments, isWritten) == 1;
    all_views = all_views && isView(*op);
  }
  if (!any) return std::nullopt;
  if (all_views) return "view";
  if (all_new == all_first) return std::nullopt;
  return all_new ? "new" : "first";
}

/// Whether all that calls of an operator do is to return tensors, or to say of what kind a tensor is, and the same for
/// the same arguments: whichever overload they choose, but for those that take `out`. Of some the table has the facts.
bool onlyComputes(const std::string& kind) {
  constexpr Trait kMore = Trait::ChangesTape | Trait::MakesLeaf | Trait::ReplacesMemory | Trait::ChangesState |
                          Trait::LeavesUninitialized | Trait::AsksAutograd;
  const auto is_of_tensors = [](const c10::Argument& result) {
    const c10::TypePtr& type = result.type();
    return type->isSubtypeOf(*c10::TensorType::get()) || type->isSubtypeOf(*c10::ListType::ofTensors());
  };
  const auto is_out = [](const c10::Argument& argument) { return argument.kwarg_only() && isWritten(argument); };
  bool has_facts = false;
  for (const Operator* op : OperatorTable::get().overloads(c10::Symbol::fromQualString(kind))) {
    const auto& schema = op->schema();
    if (!op->isOfDispatcher() || std::ranges::any_of(schema.arguments(), is_out)) continue;
    if (op->isMutable() || op->hasSideEffects() || !op->isDeterministic() || op->hasTrait(kMore)) return false;
    if (hiddenWritesOf(*op)) return false;
    if (!op->asksForKind() && !std::ranges::all_of(schema.returns(), is_of_tensors)) return false;
    const OperatorRow* row = findOperatorRow(op->fullName());
    has_facts |= row && !row->facts.empty();
  }
  return has_facts;
}

/// Whether all that calls of an operator do is to draw random numbers for what they return, or write to the first
/// argument and return. Not of those that do so only where an argument says that something is trained.
bool drawsRandomNumbers(const std::string& kind) {
  const auto is_out = [](const c10::Argument& argument) { return argument.kwarg_only() && isWritten(argument); };
  const auto decides = [](const c10::Argument& argument) {
    return argument.name() == "train" || argument.name() == "training";
  };
  bool draws = false;
  for (const Operator* op : OperatorTable::get().overloads(c10::Symbol::fromQualString(kind))) {
    const auto& arguments = op->schema().arguments();
    if (!op->isOfDispatcher() || std::ranges::any_of(arguments, is_out)) continue;
    if (op->isDeterministic() || std::ranges::any_of(arguments, decides)) return false;
    draws = true;
  }
  return draws;
}

void collectUnknownOperators(Block* block, bool may_be_random, std::set<std::string>& names) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) collectUnknownOperators(inner, may_be_random, names);
    const Operator* op = operatorOf(*node);
    if (!op || isBasic(node, Basic::Raise)) continue;
    const OperatorRow* row = findOperatorRow(op->fullName());
    const bool is_known = !op->isOfDispatcher() || (row && !row->facts.empty()) || op->keepsSizes() ||
                          (op->isMutable() && op->isPointwise());
    // To draw random numbers is a side effect, too.
    const bool is_random = row && !op->isDeterministic();
    if (!is_known || (is_random ? !may_be_random : op->hasSideEffects())) names.insert(op->fullName());
  }
}

/// Operators of the graph that do more than compute, or of which the table does not say what they compute.
std::set<std::string> unknownOperators(const GraphHandle& graph, bool may_be_random) {
  std::set<std::string> names;
  collectUnknownOperators(graph->block(), may_be_random, names);
  return names;
}

/// A message per rule that does not parse, or uses a name that its operator's schema lacks.
std::vector<std::string> factRuleErrors() {
  std::vector<std::string> errors;
  for (const OperatorRow& row : operatorRows()) {
    const std::string name(row.name);
    const Operator* op = row.facts.empty() ? nullptr : OperatorTable::get().find(row.name);
    if (!op) continue;
    try {
      for (const std::string& unknown : FactRule(row.facts).unknownNames(*op))
        errors.push_back(name + ": '" + unknown + "' is no argument");
    } catch (const std::invalid_argument& error) {
      errors.push_back(name + ": " + error.what());
    }
  }
  return errors;
}

}  // namespace

void bindFacts(py::module_& module) {
  module.def("_facts_of_call", factsOfCall, py::arg("name"), py::arg("arguments"), py::arg("hide") = "nothing");
  module.def("_new_results", newResults);
  module.def("_memory_of_calls", memoryOfCalls);
  module.def("_only_computes", onlyComputes);
  module.def("_draws_random_numbers", drawsRandomNumbers);
  module.def("_unknown_operators", unknownOperators, py::arg("graph"), py::arg("may_be_random") = false);
  module.def("_fact_rule_errors", factRuleErrors);
  module.def(
      "_replace_fact_rule",
      [](const std::string& name, const std::string& text) { FactRule::replace(operatorNamed(name), text); },
      "For as long as the process lives; for tests of what false rules lead to.");
  module.def("_table_errors", tableErrors);
  module.def("_operators_as_markdown", operatorsAsMarkdown);
  module.def(
      "_evaluate_fact_rule", [](const std::string& name, const std::string& text, const py::sequence& arguments) {
        const Operator& op = operatorNamed(name);
        const FactRule rule(text);
        const auto& schema = op.schema().arguments();
        std::vector<Fact> facts;
        for (size_t i = 0; i < schema.size(); ++i) {
          facts.push_back(Fact::of(
              i < arguments.size() ? toIValue(py::object(arguments[i]).ptr(), schema[i].type())
                                   : schema[i].default_value().value_or(c10::IValue())));
        }
        py::list results;
        for (const Fact& fact : rule.evaluate(op, facts)) results.append(toPython(fact));
        return results;
      });
  module.def("_fact_rows", [] {
    py::dict rows;
    for (const OperatorRow& row : operatorRows()) {
      if (!row.facts.empty()) rows[py::str(std::string(row.name))] = std::string(row.facts);
    }
    return rows;
  });
  module.def("_autocast_rows", [] {
    py::dict rows;
    for (const OperatorRow& row : operatorRows()) {
      if (row.autocast_cpu != Autocast::Unknown)
        rows[py::str(std::string(row.name))] =
            std::pair(std::string(nameOf(row.autocast_cpu)), std::string(nameOf(row.autocast_cuda)));
    }
    return rows;
  });
}

}  // namespace cresset::python
