#include "cresset/functionalization/attributes.h"

#include <ATen/core/jit_type.h>

#include <ranges>

#include "cresset/analysis/plain_types.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ir/nesting.h"

namespace cresset {

namespace {

bool isObject(const Value* value) {
  return value->type()->kind() == c10::TypeKind::ClassType;
}

}  // namespace

HoistedAttributes::HoistedAttributes(Graph& graph) : graph_(graph), first_(*graph.block()->nodes().begin()) {
  for (const Value* input : graph.inputs())
    if (isObject(input)) objects_.insert(input);
  const bool runs_unknown = anyNode(graph.block(), [&](Node* node) {
    if (node->kind() == prim::SetAttr) set_.insert(node->s(attr::name));
    return runsUnknown(*node);
  });
  if (objects_.empty() || runs_unknown) return;
  collect(graph.block());
  for (auto& [read, input] : tensors_) {
    input = graph.addInput()->setType(read->type());
    read->replaceAllUsesWith(input);
  }
}

HoistedAttributes::~HoistedAttributes() {
  for (const auto& [read, input] : tensors_ | std::views::reverse) {
    input->replaceAllUsesWith(read);
    graph_.block()->eraseInput(graph_.inputs().size() - 1);
  }
}

void HoistedAttributes::collect(Block* block) {
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) collect(inner);
    if (node->kind() != prim::GetAttr || !objects_.contains(node->input(0)) || set_.contains(node->s(attr::name)))
      continue;
    const bool is_tensor = isTensorOrNone(*node->output()->type());
    if (!is_tensor && !isObject(node->output())) continue;
    if (node == first_) first_ = node->next();
    Value*& known = known_[{node->input(0), node->s(attr::name)}];
    if (known) {
      node->output()->replaceAllUsesWith(known);
      node->destroy();
      continue;
    }
    known = node->output();
    node->moveBefore(first_);
    if (is_tensor) {
      tensors_.emplace_back(known, nullptr);
    } else {
      objects_.insert(known);
    }
  }
}

}  // namespace cresset
