// Derivative rules for one kind of call: with the operands that are constants put in and lists as long as they are, so
// that loops over dimensions, tests for None and dispatch on ranks are gone.
//
// A rule for many kinds of calls is mostly such code, and a program calls it in few ways: it is simplified once per way
// rather than once per call, in a graph of its own rather than among all others.
//
// Thread-safety: specializeRule may be called from any thread; the graphs must not be changed.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <span>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// What is known of the operands of a call, in order. Lists that are made of known elements count as these.
class RuleOperands {
 public:
  /// One that the rule does not use.
  void addUnused();
  /// One of this type; it is an input of the specialized rule.
  void add(const TypePtr& type);
  /// A value of a graph: if it is a constant or a list that the graph makes, that is known. The values that it is made
  /// of that are inputs of the specialized rule are added to `inputs`, in order.
  void add(Value* value, std::vector<Value*>& inputs);
  void addConstant(const c10::IValue& value, const TypePtr& type);
  /// A list of the next `size` operands.
  void addList(size_t size, const TypePtr& type);

  bool operator==(const RuleOperands& other) const;
  size_t hash() const;

 private:
  friend class RuleSpecializer;
  enum class Kind : uint8_t { Unused, Input, Constant, List };
  struct Operand {
    Kind kind;
    size_t size = 0;  // of a list
    TypePtr type;
    c10::IValue constant;
  };

  std::vector<Operand> operands_;  // elements of lists after them
};

/// The rule for such operands. Its inputs are those operands of kind input, in order; its outputs the rule's. Rules
/// that were specialized before are remembered (docs/caches.md).
std::shared_ptr<const Graph> specializeRule(const std::shared_ptr<const Graph>& rule, const RuleOperands& operands);

/// How many rules were specialized since the process began, for tests.
size_t numSpecializedRules();

/// Folds what rules compute of constants and types, and removes what is unused: nothing in a gradient has an
/// effect, and an exception that an unused gradient would have raised is no loss.
void simplifyRules(Graph& graph);

}  // namespace cresset
