// Calls of `torch.autograd.grad` and `Tensor.backward` in a graph, and what they say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Kinds of nodes that have to do with gradients.
struct GradientKinds {
  Symbol grad = Symbol::fromQualString("aten::grad");
  Symbol backward = Symbol::fromQualString("aten::backward");
  Symbol mark = Symbol::fromQualString("aten::requires_grad_");  // makes a tensor a leaf
  Symbol detach = Symbol::fromQualString("aten::detach");
  Symbol unwrap = Symbol::fromQualString("aten::_unwrap_optional");
  Symbol ones_like = Symbol::fromQualString("aten::ones_like");
  Symbol zeros_like = Symbol::fromQualString("aten::zeros_like");
  Symbol full_like = Symbol::fromQualString("aten::full_like");
  Symbol release = Symbol::fromQualString("cresset::release_graph");
  Symbol is_grad_enabled = Symbol::fromQualString("aten::is_grad_enabled");
  Symbol retain_grad = Symbol::fromQualString("aten::retain_grad");
  Symbol detach_in_place = Symbol::fromQualString("aten::detach_");

  static const GradientKinds& get() {
    static const GradientKinds kinds;
    return kinds;
  }
};

bool isGradientCall(const Node* node);

/// What a call of `grad` or `backward` asks for.
struct GradientCall {
  std::vector<Value*> outputs;
  std::vector<Value*> inputs;     // of `grad`
  std::vector<Value*> gradients;  // of the outputs; null for the one of a number
  bool accumulates = false;       // `backward`: into the leaves
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
};

/// Nothing if it is not a plain call: whose lists are made in place, whose flags are constants.
std::optional<GradientCall> readGradientCall(const Node* node, AliasDb& memory);

/// Whether what autograd checks of an output's gradient holds, up to sizes.
bool fitsOutput(const Value* gradient, const Value* output);

/// The first name of the tensor: some nodes only hand it on.
Value* canonicalTensor(Value* value);
/// Whether the signature of the call describes the tensor: it is an argument, or a part of one.
bool isDescribed(const Value* value);
/// The tensor that an Optional argument holds: plans take it out at their start. The argument itself if they did not.
Value* takenOut(Value* value);
/// For people: "'x' (aten::mul)".
std::string describeTensor(const Value* value);

}  // namespace cresset
