// Convolutions and linear layers with constant weights, followed by a batch norm with constant statistics or by
// arithmetic with a constant per channel: the constants go into weight and bias, and what followed disappears.
//
// The sums come out in another order, so bits change: this is for freezing only. A batch norm takes dimension 1 as its
// channels; that the layer's channels are there is known where the program checks the rank itself, as nn.BatchNorm2d
// does. Elsewhere both ways stay, and the rank chooses at run time.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <string>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/constant_tensor.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

const std::string& operatorName(Node* node) {
  static const std::string none;
  if (isStructural(node->kind())) return none;
  const Operator* op = operatorOf(*node);
  return op ? op->fullName() : none;
}

bool isPlain(const at::Tensor& tensor, c10::ScalarType dtype) {
  return tensor.scalar_type() == dtype && tensor.layout() == at::kStrided && !tensor.requires_grad() &&
         tensor.device().is_cpu();
}

/// y = weight·x + bias, per output channel.
struct Layer {
  Node* node;
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  int64_t spatial;  // dimensions after the channels; 0 of a linear layer, whose channels are last

  int64_t channels() const { return weight.size(0); }
  /// A number per channel in the shape in which it multiplies the weight.
  at::Tensor alongWeight(const at::Tensor& per_channel) const {
    std::vector<int64_t> shape(static_cast<size_t>(weight.dim()), 1);
    shape[0] = channels();
    return per_channel.reshape(shape);
  }
};

std::optional<Layer> layerOf(Node* node) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  if (!op || (!op->convolution() && op->fullName() != "aten::linear")) return std::nullopt;
  const auto& schema = op->schema();
  const auto transposed = schema.argumentIndexWithName("transposed");
  if (transposed ? constantAs<bool>(node->input(static_cast<size_t>(*transposed))) != false
                 : schema.argumentIndexWithName("output_padding").has_value())
    return std::nullopt;
  const auto weight = constantTensor(node->input(1));
  if (!weight || !(weight->scalar_type() == at::kFloat || weight->scalar_type() == at::kDouble) ||
      !isPlain(*weight, weight->scalar_type()) || weight->dim() < 2)
    return std::nullopt;
  Layer layer{node, *weight, constantTensor(node->input(2)), weight->dim() - 2};
  if (layer.bias ? !isPlain(*layer.bias, weight->scalar_type()) || layer.bias->dim() != 1
                 : !isNoneConstant(node->input(2)))
    return std::nullopt;
  return layer;
}

/// What follows a layer: each channel times `scale`, plus `shift`.
struct Affine {
  at::Tensor scale, shift;  // one number per channel
  bool over_dimension_1;    // channels are there, wherever the layer's are, as for a batch norm
};

std::optional<Affine> batchNorm(Node* node, const Layer& layer) {
  const auto dtype = layer.weight.scalar_type();
  const auto mean = constantTensor(node->input(3)), variance = constantTensor(node->input(4));
  const auto epsilon = constantAs<double>(node->input(7));
  if (constantAs<bool>(node->input(5)) != false || !epsilon || !mean || !variance) return std::nullopt;
  const auto fits = [&](const at::Tensor& t) {
    return isPlain(t, dtype) && t.dim() == 1 && t.size(0) == layer.channels();
  };
  if (!fits(*mean) || !fits(*variance)) return std::nullopt;
  at::Tensor scale = variance->add(*epsilon).rsqrt();
  at::Tensor shift = at::Tensor();
  for (const size_t i : {size_t(1), size_t(2)}) {
    const auto given = constantTensor(node->input(i));
    if (given ? !fits(*given) : !isNoneConstant(node->input(i))) return std::nullopt;
    if (given && i == 1) scale = scale.mul(*given);
    if (given && i == 2) shift = *given;
  }
  const at::Tensor moved = mean->mul(scale);
  return Affine{scale, shift.defined() ? shift.sub(moved) : moved.neg(), true};
}

/// `x + c`, `x - c`, `x * c`, `x / c`, where c is a number or one number per channel, in a shape that adds no
/// dimension to what has a batch.
std::optional<Affine> arithmetic(Node* node, const std::string& name, const Layer& layer) {
  static constexpr std::string_view kNames[] = {"aten::add.", "aten::sub.", "aten::mul.", "aten::div."};
  const auto found = std::find_if(std::begin(kNames), std::end(kNames), [&](std::string_view prefix) {
    return name == std::string(prefix) + "Tensor" || name == std::string(prefix) + "Scalar";
  });
  if (found == std::end(kNames)) return std::nullopt;
  const auto numberOf = [](const Value* value) -> std::optional<double> {
    const auto constant = toIValue(value);
    if (!constant || !(constant->isInt() || constant->isDouble())) return std::nullopt;
    return constant->toScalar().toDouble();
  };
  const at::Tensor ones = layer.weight.new_ones({layer.channels()}), zeros = layer.weight.new_zeros({layer.channels()});
  at::Tensor other;
  bool has_batch = false;
  if (const auto number = numberOf(node->input(1))) {
    other = ones.mul(*number);
  } else if (const auto tensor = constantTensor(node->input(1))) {
    if (!isPlain(*tensor, layer.weight.scalar_type())) return std::nullopt;
    // [C, 1, 1] or [1, C, 1, 1] after a convolution, [C] or [1, C] after a linear layer.
    has_batch = tensor->dim() == layer.spatial + 2;
    if (tensor->dim() > layer.spatial + 2 || (has_batch && tensor->size(0) != 1)) return std::nullopt;
    const bool per_channel = tensor->dim() > layer.spatial && tensor->size(has_batch ? 1 : 0) == layer.channels() &&
                             tensor->numel() == layer.channels();
    if (!per_channel && tensor->numel() != 1) return std::nullopt;
    other = tensor->reshape({-1}).expand({layer.channels()}).contiguous();
  } else {
    return std::nullopt;
  }
  const size_t kind = static_cast<size_t>(found - std::begin(kNames));
  if (kind < 2) {
    const auto alpha = numberOf(node->input(2));
    if (!alpha) return std::nullopt;
    return Affine{ones, other.mul(kind == 0 ? *alpha : -*alpha), has_batch};
  }
  return Affine{kind == 2 ? other : ones.div(other), zeros, has_batch};
}

/// Whether the program raises before `node`, in the same block, unless the value has `rank` dimensions.
bool isRankChecked(Value* value, int64_t rank, const Node* node) {
  for (const Use& use : value->uses()) {
    if (!isBasic(use.user, Basic::Rank)) continue;
    for (const Use& compared : use.user->output()->uses()) {
      if (!isBasic(compared.user, Basic::Unequal) || compared.offset != 0 ||
          constantAs<int64_t>(compared.user->input(1)) != rank)
        continue;
      for (const Use& chosen : compared.user->output()->uses()) {
        const Node* branch = chosen.user;
        if (branch->kind() != prim::If || branch->owningBlock() != node->owningBlock() || !branch->isBefore(node))
          continue;
        for (const Node* inner : branch->blocks()[0]->nodes()) {
          if (isBasic(inner, Basic::Raise)) return true;
        }
      }
    }
  }
  return false;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), memory_(aliasesOf(graph)) {}

  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) run(inner);
      if (node->inputs().empty() || node->outputs().size() != 1 || !node->blocks().empty()) continue;
      // One layer takes up all that follows it.
      const auto layer = layerOf(node->input(0)->node());
      if (!layer || !onlyValueOf(*layer, node)) continue;
      const std::string& name = operatorName(node);
      const auto affine = name == "aten::batch_norm" ? batchNorm(node, *layer) : arithmetic(node, name, *layer);
      if (affine) fold(*layer, *affine, node);
    }
    return changed_;
  }

 private:
  /// Whether only `node` uses the numbers that the layer computes (others may ask for its shape), and nothing
  /// changes any of its tensors.
  bool onlyValueOf(const Layer& layer, const Node* node) {
    for (const Use& use : layer.node->output()->uses()) {
      if (use.user == node && use.offset == 0) continue;
      const Operator* user = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
      if (!user || !user->asksForKind()) return false;
    }
    const auto written = [&](const Value* value) { return memory_->hasWriters(value); };
    const auto constants = node->inputs();
    return !written(layer.node->output()) && !written(layer.node->input(1)) && !written(layer.node->input(2)) &&
           std::none_of(++constants.begin(), constants.end(), written);
  }

  void fold(const Layer& layer, const Affine& affine, Node* node) {
    const at::Tensor weight = layer.weight.mul(layer.alongWeight(affine.scale));
    const at::Tensor bias = layer.bias ? layer.bias->mul(affine.scale).add(affine.shift) : affine.shift;
    changed_ = true;
    // After the channels come as many dimensions as the weight has: batch and channels come before.
    const int64_t rank = layer.spatial + 2;
    if (!affine.over_dimension_1 || isRankChecked(layer.node->output(), rank, node)) {
      setWeights(layer.node, weight, bias);
      node->output()->replaceAllUsesWith(layer.node->output());
      node->destroy();
      return;
    }
    chooseByRank(layer, rank, weight, bias, node);
  }

  void setWeights(Node* node, const at::Tensor& weight, const at::Tensor& bias) {
    const InsertPointGuard guard(graph_, node);
    Value *new_weight = graph_.insertConstant(weight), *new_bias = graph_.insertConstant(bias);
    new_weight->node()->copyLocation(node);
    new_bias->node()->copyLocation(node);
    node->replaceInput(1, new_weight);
    node->replaceInput(2, new_bias);
  }

  /// The layer becomes `if x.dim() == rank: folded layer; else: layer`, and `node` runs in the other case only. It
  /// stays where it is: what it raises comes after what stands before it.
  void chooseByRank(const Layer& layer, int64_t rank, const at::Tensor& weight, const at::Tensor& bias, Node* node) {
    Value* is_batch = nullptr;
    const auto insert = [&](Node* made) { return graph_.insertNode(made)->copyLocation(node); };
    const auto same = [](Value* value) { return value; };
    Value* given = layer.node->output();
    {
      const InsertPointGuard guard(graph_, layer.node);
      const auto compute = [&](Basic operation, std::initializer_list<Value*> inputs) {
        return insertBasic(graph_, operation, inputs)->copyLocation(node)->output();
      };
      Value* dimensions = compute(Basic::Rank, {layer.node->input(0)});
      is_batch = compute(Basic::Equal, {dimensions, graph_.insertConstant(rank)});
      Node* choice = insert(graph_.create(prim::If, {is_batch}));
      Block *folded = choice->addBlock(), *unfolded = choice->addBlock();
      Node* better = folded->appendNode(graph_.createClone(layer.node, same));
      setWeights(better, weight, bias);
      folded->registerOutput(better->output());
      unfolded->registerOutput(unfolded->appendNode(graph_.createClone(layer.node, same))->output());
      given->replaceAllUsesWith(choice->output()->setType(given->type()));
      layer.node->destroy();
      given = choice->output();
    }
    const InsertPointGuard guard(graph_, node);
    Node* choice = insert(graph_.create(prim::If, {is_batch}));
    Block *done = choice->addBlock(), *rest = choice->addBlock();
    done->registerOutput(given);
    node->output()->replaceAllUsesWith(choice->output()->setType(node->output()->type()));
    node->moveBefore(rest->returnNode());
    rest->registerOutput(node->output());
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  bool changed_ = false;
};

}  // namespace

static bool foldIntoWeights(Graph& graph) {
  const at::NoGradGuard no_grad;
  return Folder(graph).run(graph.block());
}

CRESSET_PASS(
    foldIntoWeights, "fold-into-weights", Derivatives,
    "Fold batch norms and arithmetic with constants into the constant weights of convolutions and linear layers")

}  // namespace cresset
