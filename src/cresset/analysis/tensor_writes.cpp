// What the writes of a graph may change of tensors beside their elements.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/facts.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// Whether an operator that writes leaves the sizes of what it writes to.
bool keepsSizes(const Operator& op) {
  // Rows write to lists and dicts.
  if (!op.isMutable() || op.kernel()) return true;
  const std::string& name = op.schema().name();
  if (!name.ends_with('_')) return false;  // results as arguments
  if (op.isPointwise()) return true;
  static const std::unordered_set<std::string_view> kKeep = {
      "aten::copy_",          "aten::zero_",          "aten::fill_",
      "aten::fill_diagonal_", "aten::index_put_",     "aten::_index_put_impl_",
      "aten::index_add_",     "aten::index_copy_",    "aten::index_fill_",
      "aten::index_reduce_",  "aten::masked_fill_",   "aten::masked_scatter_",
      "aten::scatter_",       "aten::scatter_add_",   "aten::scatter_reduce_",
      "aten::put_",           "aten::addmm_",         "aten::addmv_",
      "aten::addr_",          "aten::baddbmm_",       "aten::addbmm_",
      "aten::dropout_",       "aten::alpha_dropout_", "aten::feature_dropout_",
      "aten::normal_",        "aten::uniform_",       "aten::random_",
      "aten::bernoulli_",     "aten::exponential_",   "aten::geometric_",
      "aten::cauchy_",        "aten::log_normal_",    "aten::cumsum_",
      "aten::cumprod_",       "aten::tril_",          "aten::triu_",
      "aten::relu_",          "aten::relu6_",         "aten::rrelu_",
      "aten::requires_grad_", "aten::detach_",        "aten::lerp_",
      "aten::renorm_",        "aten::clamp_",         "aten::sub_",
      "aten::add_",           "aten::mul_",           "aten::div_"};
  return kKeep.contains(name);
}

TensorWrites tensorWritesIn(const Block* block) {
  static const Symbol kAnything[] = {
      Symbol::fromQualString("aten::set_data"),
      Symbol::fromQualString("aten::set_"),
      prim::CallMethod,
      prim::CallFunction,
      prim::PythonOp,
      prim::Enter,
      prim::Exit,
      prim::fork};
  TensorWrites most = TensorWrites::Elements;
  for (Node* node : block->nodes()) {
    if (std::find(std::begin(kAnything), std::end(kAnything), node->kind()) != std::end(kAnything) &&
        !changesStateOnly(*node))
      return TensorWrites::Anything;
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (op && !keepsSizes(*op)) most = std::max(most, TensorWrites::Sizes);
    for (const Block* inner : node->blocks()) most = std::max(most, tensorWritesIn(inner));
    if (most == TensorWrites::Anything) return most;
  }
  return most;
}

}  // namespace

TensorWrites tensorWrites(const Graph& graph) {
  return tensorWritesIn(graph.block());
}

}  // namespace cresset
