// Which results of a graph a run keeps in memory that was laid out before it, and for how long each is needed.
//
// A result gets a slot if an out variant computes it (out_variants.h) and no reference outside of the graph is
// possible: what is returned, or reached from something that others hold, from a fork or from an object, is in memory
// of its own. A slot is needed from its node to the last node that may read its memory: by the result itself, by a view
// of it, by a list or tuple that holds either, by what branches and loops pass on. Positions are those of nodes in
// program order; what a loop's body takes from outside is needed to its end.
//
// What a loop computes and an iteration may leave to later ones has no such end: it is carried, put into a list, or
// returned. Its slot turns: each call that computes it takes memory to which nothing refers any more (plan_memory.h).
//
// A result may take the place of an operand that nothing needs after it, if its kernel goes element by element, and
// both are known to have the same dtype, sizes and strides.
//
// With managed outputs, results that leave the graph get slots too: memory that belongs to who holds the result until
// that lets it go (plan_memory.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/facts.h"
#include "cresset/analysis/size.h"
#include "cresset/interpreter/out_variant.h"
#include "cresset/ir/graph.h"

namespace cresset {

struct MemoryLayout {
  struct Slot {
    std::string name;            // of the result: "h.1"
    at::ScalarType dtype;        // Undefined: its out variant learns it
    size_t first = 0, last = 0;  // positions, both included
    bool is_output = false;      // leaves the graph
    bool turns = false;          // computed in a loop, and needed for longer than an iteration
    Size bytes;                  // over the sizes of the graph's inputs; unknown if it depends on more
    uint32_t place = 0;          // the slot whose memory it takes, as the last reader of what lies there; else its own

    /// Whether it is no part of the arena: who refers to its memory keeps it.
    bool liesApart() const { return is_output || turns; }
  };
  std::vector<Slot> slots;
  OutSites sites;
  std::unordered_set<const Node*> lasting_lists;  // nodes that take one apart
  /// By site: slots that no longer are needed when it begins, and were when the site before it did.
  std::vector<std::vector<uint32_t>> deaths;
  /// The graph's inputs by Value::unique(), for the evaluation of sizes.
  std::vector<std::optional<uint32_t>> input_of;
  std::vector<size_t> positions;                        // per site
  std::unordered_map<const Node*, size_t> position_of;  // of each node
};

/// The graph must not change any more, its types must be those that hold when it runs, and gradients must be off
/// throughout (maySwitchGradientsOn): autograd does not see what out variants do.
std::shared_ptr<const MemoryLayout> layOutMemory(Graph& graph, const TypeAssumptions& assumptions, bool manage_outputs);

}  // namespace cresset
