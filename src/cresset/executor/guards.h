// Guards: where plans look at values whose kind no signature tells (interpreter/guards.def): tensors, bools and what
// may be None from lists, dicts, attributes that the program writes, and calls.
//
// They stand in a function's prepared graph as prim::BailOut nodes, one after each node that reads such values, with a
// deoptimization target: the rest of the program after it, unspecialized. The first plan for a signature watches what
// comes by; the next one promises it, and specializes what follows. Guards that fail again and again are left out of
// the one after that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cresset/interpreter/bailout.h"
#include "cresset/ir/graph.h"
#include "cresset/program/program.h"

namespace cresset {

struct GuardPoint {
  std::vector<GuardedValue> values;
  std::shared_ptr<const DeoptimizationTarget> target;
};

/// Of nodes that read an entry of an argument which the signature describes: the graph's input that stands for it.
Symbol entryAttribute();

/// Puts prim::BailOut nodes into a graph that is ready to be copied for plans; their indices are places in the result.
/// Deoptimization targets take time and memory, so there are at most kMaxGuards, and fewer in large graphs.
std::vector<GuardPoint> insertGuards(Graph& graph, const Function& function);

inline constexpr size_t kMaxGuards = 16;

/// Sites for the guards of one plan, by index; null where there is none. Guards that neither watch nor promise are
/// taken out of the graph. `earlier` are those of the plan that this one takes the place of, if it does.
std::vector<std::shared_ptr<BailOutSite>> armGuards(
    Graph& graph, std::span<const GuardPoint> points, std::span<const std::shared_ptr<BailOutSite>> earlier,
    const std::shared_ptr<std::atomic<bool>>& revise);
/// Removes guards of tensors whose rank follows from sizes, if gradients may flow through these: a guard ends a part of
/// the graph that is differentiated. After types are known; for plans that record gradients. Whether there were any.
bool removeGuardsOfGradients(Graph& graph);

/// Puts into the graph what is known of a value: the constant that it is; or, of a tensor, `type`, and of an Optional
/// that holds something, that value, which is inserted at the insertion point. Returns the value that has the type now,
/// null if there is none or it has no uses.
Value* tellKind(Value* value, const ValueKind& kind, const c10::TypePtr& type);

/// The type of tensors of a kind.
c10::TensorTypePtr typeOfKind(const ValueKind& kind);

}  // namespace cresset
