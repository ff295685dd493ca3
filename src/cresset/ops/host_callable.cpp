#include "cresset/ops/host_callable.h"

#include <ATen/core/jit_type.h>

#include "cresset/ops/basic.h"

namespace cresset {

Node* insertHostCall(
    Graph& graph, const c10::intrusive_ptr<HostCallable>& host, std::span<Value* const> inputs, TypePtr result,
    const SourceRange& range) {
  Node* constant = graph.insertNode(graph.create(prim::Constant));
  constant->setAttribute(attr::value, Attribute(c10::IValue::make_capsule(host)));
  constant->output()->setType(c10::CapsuleType::get());
  Node* call = graph.create(kindOf(Basic::CallHost), {constant->output()}, 1);
  for (Value* input : inputs) call->addInput(input);
  call->setAttribute(attr::name, host->name());
  call->output()->setType(std::move(result));
  graph.insertNode(call);
  if (range) {
    constant->setSourceRange(range);
    call->setSourceRange(range);
  }
  return call;
}

bool callsHost(const Node& node) {
  return node.kind() == kindOf(Basic::CallHost);
}

}  // namespace cresset
