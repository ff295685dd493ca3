// A machine for pickles that builds a description of the values, and runs nothing.
//
// Pickle is a stack language whose programs may call anything. This machine knows the opcodes that PyTorch's writers
// (and Python's pickler, protocol 2) emit; it lets `allow` judge every global name where it stands, and instead of
// calling it notes a Call node. The result is a table of nodes that refer to each other by number, so neither building
// nor destroying it recurses, however deep the pickle nests. unpickler.h turns nodes into values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/archive/budget.h"

namespace cresset {

struct PickleNode {
  enum Kind : uint8_t {
    None,
    Bool,        // i
    Int,         // i
    Float,       // f
    String,      // a: offset, b: size in the pickle's bytes
    Tuple,       // a: first of the elements in the pool, b: their number
    List,        // a: first chunk, b: last chunk
    Dict,        // as List; keys and values alternate
    Global,      // a: number of the global
    Call,        // a: the callable's node, b: the argument's node (REDUCE)
    Object,      // a: the class's node, b: the state's node or kNone (NEWOBJ, BUILD)
    Persistent,  // a: the id's node
  };
  Kind kind = None;
  bool shared = false;  // in the memo: may be referred to from several places
  uint32_t offset = 0;  // of the opcode that made it
  struct Pair {
    uint32_t a, b;
  };
  union {
    int64_t i;
    double f;
    Pair p;
  };
  PickleNode() : i(0) {}
};

/// `module.name` of a GLOBAL opcode and what `allow` said of it.
struct PickleGlobal {
  std::string_view module, name;
  int kind = 0;  // the meaning belongs to whoever wrote `allow`
};

class Pickle {
 public:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr size_t kAll = static_cast<size_t>(-1);
  /// Judges a name: gives it a kind, or throws ArchiveError.
  using Allow = std::function<int(std::string_view module, std::string_view name, const ArchiveSite& site)>;

  /// Reads one pickle. `bytes` must outlive this. Throws ArchiveError with `site`'s file and entry and the byte.
  Pickle(std::string_view bytes, ArchiveSite site, LoadBudget& budget, const Allow& allow);
  ~Pickle();
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  uint32_t root() const { return root_; }
  const PickleNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t numNodes() const { return nodes_.size(); }
  const PickleGlobal& global(const PickleNode& node) const { return globals_[node.p.a]; }
  std::string_view string(const PickleNode& node) const { return bytes_.substr(node.p.a, node.p.b); }
  /// The elements of a Tuple, List or Dict, or the first of them. They are copied: a node that many others refer to
  /// is to be asked once, or for few.
  std::vector<uint32_t> elements(const PickleNode& node, size_t at_most = kAll) const;
  /// How many there are; of keys and values, both count.
  size_t numElements(const PickleNode& node) const;
  ArchiveSite site(const PickleNode& node) const { return site_.at(node.offset); }

 private:
  struct Chunk {
    uint32_t first, count, next;
  };
  class Machine;

  std::string_view bytes_;
  ArchiveSite site_;
  LoadBudget& budget_;
  size_t charged_ = 0;
  std::vector<PickleNode> nodes_;
  std::vector<uint32_t> pool_;  // elements of containers
  std::vector<Chunk> chunks_;
  std::vector<PickleGlobal> globals_;
  uint32_t root_ = kNone;
};

}  // namespace cresset
