// What the structural nodes do to memory: the column `memory` of ir/structural.def, as constraints.
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"

namespace cresset {

void AliasDb::analyzeStructural(Node* node, const Structure& structure) {
  const auto inputs = node->inputs();
  switch (structure.memory) {
    case Memory::None:
      return;
    case Memory::Outside:
      if (!isNoneConstant(node->output())) memory_.addWorld(variableOf(node->output()));
      return;
    case Memory::Holder:
      return analyzeHolder(node);
    case Memory::Slice:
      return analyzeSlice(node);
    case Memory::Element:
      return analyzeElements(node);
    case Memory::Same:
      return memory_.addCopy(variableOf(inputs[0]), variableOf(node->output()));
    case Memory::Stores:
      return memory_.addStore(variableOf(inputs[0]), attributeSlot(node), variableOf(inputs[1]));
    case Memory::Bodies:
      return analyzeBodies(node);
    case Memory::Leaves:
      for (size_t i = 0; i < node->outputs().size(); ++i)
        memory_.addCopy(variableOf(inputs[i]), variableOf(node->output(i)));
      bailout_inputs_.insert(bailout_inputs_.end(), inputs.begin(), inputs.end());
      return;
    case Memory::Anything:
      if (!changesStateOnly(*node)) analyzeUnknown(node);
      return;
  }
}

void AliasDb::analyzeHolder(Node* node) {
  Value* output = node->output();
  makeFresh(output);
  const auto inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t field = output->type()->kind() == c10::TypeKind::TupleType  ? i
                         : output->type()->kind() == c10::TypeKind::DictType ? i % 2
                                                                             : 0;
    memory_.addStore(variableOf(output), static_cast<Field>(field), variableOf(inputs[i]));
  }
}

/// Of a tuple by index or all of them, of a list all, of an object one attribute.
void AliasDb::analyzeElements(Node* node) {
  const Value* holder = node->input(0);
  const auto* tuple = holder->type()->castRaw<c10::TupleType>();
  const bool is_object = holder->type()->castRaw<c10::ClassType>() != nullptr;
  std::optional<int64_t> index;
  if (tuple && node->inputs().size() == 2) {
    index = constantAs<int64_t>(node->input(1));
    if (!index) return analyzeUnknown(node);
    if (*index < 0) *index += static_cast<int64_t>(tuple->elements().size());
  }
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    Value* output = node->outputs()[i];
    if (giveKnownMemory(output)) continue;
    const Field field = is_object ? attributeSlot(node)
                        : !tuple  ? 0
                                  : static_cast<Field>(index.value_or(static_cast<int64_t>(i)));
    memory_.addLoad(variableOf(holder), field, variableOf(output));
  }
}

void AliasDb::analyzeSlice(Node* node) {
  const auto& elements = node->input(0)->type()->expectRef<c10::TupleType>().elements();
  makeFresh(node->output());
  const auto begin = node->i(attr::beg), end = node->i(attr::end);
  for (int64_t i = begin; i < end; ++i) {
    const Variable between = memory_.newVariable(elements[static_cast<size_t>(i)]);
    memory_.addLoad(variableOf(node->input(0)), static_cast<Field>(i), between);
    memory_.addStore(variableOf(node->output()), static_cast<Field>(i - begin), between);
  }
}

void AliasDb::analyzeBodies(Node* node) {
  if (isSubgraph(*node)) return analyzeSubgraph(node);
  if (node->kind() == prim::Loop) return analyzeLoop(node);
  for (Block* block : node->blocks()) {
    analyze(block);
    for (size_t i = 0; i < node->outputs().size(); ++i)
      memory_.addCopy(variableOf(block->outputs()[i]), variableOf(node->output(i)));
  }
}

void AliasDb::analyzeLoop(Node* node) {
  Block* body = node->blocks()[0];
  for (size_t i = 0; i + 1 < body->inputs().size(); ++i)
    memory_.addCopy(variableOf(node->input(i + 2)), variableOf(body->inputs()[i + 1]));
  analyze(body);
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const Variable next = variableOf(body->outputs()[i + 1]);
    memory_.addCopy(next, variableOf(body->inputs()[i + 1]));
    memory_.addCopy(next, variableOf(node->outputs()[i]));
    memory_.addCopy(variableOf(node->input(i + 2)), variableOf(node->outputs()[i]));
  }
}

/// As a block that is entered once: inputs are what the node takes, outputs what it returns.
void AliasDb::analyzeSubgraph(Node* node) {
  Graph& subgraph = *node->g(attr::Subgraph);
  std::vector<Variable>& variables = inner_variables_[&subgraph];
  const bool is_new = variables.empty();
  if (is_new) {
    variables.assign(subgraph.numValues() + 1, PointsTo::kNone);
    for (Value* input : subgraph.inputs()) define(input);
  }
  for (size_t i = 0; i < node->inputs().size(); ++i)
    memory_.addCopy(variableOf(node->input(i)), variableOf(subgraph.inputs()[i]));
  if (is_new) analyze(subgraph.block());
  for (size_t i = 0; i < node->outputs().size(); ++i)
    memory_.addCopy(variableOf(subgraph.outputs()[i]), variableOf(node->output(i)));
}

}  // namespace cresset
