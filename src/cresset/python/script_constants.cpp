// Containers that a script reached through Python's names are constants of it: each run has copies. Reading those is
// what Python's code says; a change would be lost in silence, so it is an error.
//
// Whether a write reaches one is asked of the alias analysis, on a copy of the graph in which all calls are inlined and
// each such constant is built by nodes, which makes it memory of its own instead of some memory from outside.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pipelines.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

/// Whether a constant of the type holds a list or dict. Objects are no constants, and their types may contain
/// themselves.
bool holdsMemory(const c10::Type& type) {
  if (type.castRaw<c10::ListType>() || type.castRaw<c10::DictType>()) return true;
  if (type.castRaw<c10::NamedType>() && !type.castRaw<c10::TupleType>()) return false;
  const auto contained = type.containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const TypePtr& inner) { return holdsMemory(*inner); });
}

const c10::AliasInfo* aliasInfoOf(const Operator& op, size_t argument) {
  const auto& arguments = op.schema().arguments();
  return argument < arguments.size() ? arguments[argument].alias_info() : nullptr;
}

bool writesArgument(const Operator& op, size_t argument) {
  const c10::AliasInfo* info = aliasInfoOf(op, argument);
  return info && info->isWrite();
}

/// Whether the use can only read the value, and passes nothing of it to others.
bool onlyReads(const Use& use) {
  if (isStructural(use.user->kind()) || use.user->isReturn()) return false;
  const Operator* op = operatorOf(*use.user);
  if (!op || writesArgument(*op, use.offset)) return false;
  if (op->isOfDispatcher()) return !aliasInfoOf(*op, use.offset);
  const auto outputs = use.user->outputs();
  return std::none_of(outputs.begin(), outputs.end(), [](const Value* output) { return holdsMemory(*output->type()); });
}

void findContainers(const Block* block, std::vector<Node*>& found) {
  for (Node* node : block->nodes()) {
    if (node->kind() == prim::Constant && node->outputs().size() == 1 && holdsMemory(*node->output()->type())) {
      const auto uses = node->output()->uses();
      if (!std::all_of(uses.begin(), uses.end(), onlyReads)) found.push_back(node);
    }
    for (const Block* inner : node->blocks()) findContainers(inner, found);
  }
}

/// Nodes before `place` that make a value of the type; the containers among what they make are added to `made`.
Value* build(const TypePtr& type, Node* place, std::vector<Value*>& made) {
  Graph& graph = place->graph();
  Node* node = nullptr;
  if (auto list = type->cast<c10::ListType>()) {
    node = graph.create(prim::ListConstruct);
    if (holdsMemory(*list->getElementType())) node->addInput(build(list->getElementType(), place, made));
  } else if (auto dict = type->cast<c10::DictType>()) {
    node = graph.create(prim::DictConstruct);
    if (holdsMemory(*dict->getValueType())) {
      node->addInput(build(dict->getKeyType(), place, made));
      node->addInput(build(dict->getValueType(), place, made));
    }
  } else if (auto tuple = type->cast<c10::TupleType>()) {
    node = graph.create(prim::TupleConstruct);
    for (const TypePtr& element : tuple->elements()) node->addInput(build(element, place, made));
  } else if (auto optional = type->cast<c10::OptionalType>()) {
    return build(optional->getElementType(), place, made);
  } else {
    node = graph.create(prim::Uninitialized);
  }
  node->insertBefore(place);
  node->output()->setType(type);
  if (type->castRaw<c10::ListType>() || type->castRaw<c10::DictType>()) made.push_back(node->output());
  return node->output();
}

struct Container {
  std::string name;
  const InlinedCall* call;  // of the function under check, through which it came; null if it is its own
  std::vector<Value*> made;
};

/// The call in the function under check that the node was inlined from; null if it is one of its own.
const InlinedCall* outermostCall(const Node* node) {
  const InlinedCall* call = node->inlinedCall().get();
  while (call && call->caller) call = call->caller.get();
  return call;
}

[[noreturn]] void refuseWrite(const Node* node, const std::string& name) {
  const InlinedCall* call = outermostCall(node);
  std::string through;
  if (call) through = ", which '" + call->function.substr(call->function.rfind('.') + 1) + "' does,";
  throw UserError(
      "'" + name + "' is a Python object outside of the script: the script has a copy of it, and a change of the copy" +
          through +
          " would be lost. Pass it to the script as an argument, make it an attribute of the module, or change a copy "
          "of "
          "your own (list(…), dict(…))",
      call ? call->call_site : node->sourceRange());
}

void checkWrites(const Block* block, AliasDb& aliases, const std::vector<Container>& containers) {
  for (Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) checkWrites(inner, aliases, containers);
    if (isStructural(node->kind())) continue;
    const Operator* op = operatorOf(*node);
    for (size_t i = 0; op && i < node->inputs().size(); ++i) {
      if (!writesArgument(*op, i)) continue;
      for (const Container& container : containers) {
        // What a function does to its own containers is said when it is checked.
        if (container.call && container.call == outermostCall(node)) continue;
        for (const Value* made : container.made) {
          if (aliases.mayBe(node->input(i), made)) refuseWrite(node, container.name);
        }
      }
    }
  }
}

/// Whether a call in the block may return a container of the function that it calls. `seen`: functions asked already.
bool callsForContainers(const Block* block, std::unordered_set<Function*>& seen) {
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) {
      if (callsForContainers(inner, seen)) return true;
    }
    const bool call = node->kind() == prim::CallFunction || node->kind() == prim::CallMethod;
    if (!call || !holdsMemory(*node->output()->type())) continue;
    Function* callee = calleeOf(node);
    if (!callee || !seen.insert(callee).second) continue;
    std::vector<Node*> found;
    findContainers(callee->graph()->block(), found);
    if (!found.empty() || callsForContainers(callee->graph()->block(), seen)) return true;
  }
  return false;
}

}  // namespace

void checkOnlyReadsContainers(Function& function) {
  std::vector<Node*> found;
  findContainers(function.graph()->block(), found);
  std::unordered_set<Function*> seen{&function};
  if (found.empty() && !callsForContainers(function.graph()->block(), seen)) return;
  const std::shared_ptr<Graph> graph = function.graph()->copy();
  inlineForReading(*graph);
  found.clear();
  findContainers(graph->block(), found);
  std::vector<Container> containers;
  for (Node* constant : found) {
    Container container{std::string(constant->sourceRange().text()), outermostCall(constant), {}};
    Value* value = build(constant->output()->type(), constant, container.made);
    constant->output()->replaceAllUsesWith(value);
    containers.push_back(std::move(container));
  }
  const auto aliases = aliasesOf(*graph);
  checkWrites(graph->block(), *aliases, containers);
}

}  // namespace cresset::python
