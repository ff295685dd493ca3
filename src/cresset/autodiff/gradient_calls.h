// Calls of `torch.autograd.grad` and `Tensor.backward` in a graph, and what they say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Of `torch.autograd.grad` or `Tensor.backward`.
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
