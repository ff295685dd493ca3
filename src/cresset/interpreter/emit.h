// The state of one emission. Internal to emit.cpp (nodes) and emit_control.cpp (blocks, branches, loops).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/interpreter/code.h"
#include "cresset/interpreter/liveness.h"
#include "cresset/interpreter/registers.h"

namespace cresset {

class Emitter {
 public:
  Emitter(Graph& graph, Code& code, const EmitOptions& options);
  void run();

 private:
  /// A value to be put into a register.
  struct Assignment {
    uint32_t target;
    uint32_t operand;  // with kMoveBit at the last use
  };

  // emit.cpp
  void emitNode(const Liveness::NodeInfo& info);
  void emitOperator(const Liveness::NodeInfo& info);
  /// Whether the node computes into the run's memory: by `variant`, or what its site says.
  bool emitOut(const Liveness::NodeInfo& info, const std::shared_ptr<const OutVariant>& variant);
  /// Whether the node's instruction takes operands that are borrowed.
  bool takesBorrowed(const Node& user) const;
  /// Whether all that uses the value does; of `block`, unless it is null.
  bool isOnlyBorrowed(const Value* value, const Block* block) const;
  /// Whether the elements that the node takes out of a list or tuple stay there, with that in a register of its own
  /// until nothing needs them any more.
  bool emitBorrowedElements(const Liveness::NodeInfo& info, Op op);
  /// An instruction that borrows all operands of the node.
  void emitBorrowingPool(Op op, const Liveness::NodeInfo& info, size_t b);
  void emitScalar(const Liveness::NodeInfo& info, Op op);
  void emitUpdate(const Liveness::NodeInfo& info, Op op);
  uint32_t functionSite(torch::jit::Function* function);
  bool emitInstruction(const Liveness::NodeInfo& info, Op op);
  bool emitNoneTest(const Liveness::NodeInfo& info, Op op);
  /// Operands of inputs[first…] to the pool after places for `num_outputs` outputs, then the outputs. What dies is
  /// released before the outputs get their registers.
  void emitInterfaceCall(const Liveness::NodeInfo& info);
  void emitPool(Op op, const Liveness::NodeInfo& info, uint32_t b, size_t first_input = 0);
  /// emitPool for operators. Kernels destroy what was moved to them, by recursion; so values that may hold any number
  /// of others are copied, and dropped after the call.
  void emitOperatorCall(Op op, const Liveness::NodeInfo& info, uint32_t b);
  uint32_t operatorIndex(const Operator* op);
  void emitApart(Op op, const Liveness::NodeInfo& info, const char* name);
  /// For instructions that borrow their operands: ra = op(vb, vc). `owning` operands are dropped after it.
  void emitBorrowing(Op op, const Liveness::NodeInfo& info, uint32_t b, uint32_t c, uint16_t n = 0);
  /// Releases the scalar operands that die here; returns the others, which must outlive the instruction.
  std::vector<uint32_t> releaseScalars(const Liveness::NodeInfo& info);
  /// Allocates the output's register; kNoRegister if it has no uses.
  uint32_t defineOutput(const Value* output);

  // emit_control.cpp
  void emitBlock(uint32_t block);
  /// Registers of a loop's carried values, one for start, phi, result and output of each.
  struct Carried {
    std::vector<uint32_t> targets;
    std::vector<uint32_t> own;  // those that the loop has reserved
  };
  Carried startCarried(const Liveness::NodeInfo& info);
  /// Releases what the loop alone held, and gives the outputs their registers.
  void endCarried(const Liveness::NodeInfo& info, const Carried& carried);
  /// Remembers what is held at the start of an iteration.
  void addLoopEntry(const Node& loop, size_t start);
  void emitReturn();
  void emitBranchEnd(uint32_t block, const Node& node, std::span<const uint32_t> targets);
  void emitAssignments(const std::vector<Assignment>& assignments);
  void emitEntryDrops(uint32_t block);
  /// A jump that is taken if the condition is `wanted`; becomes one with the comparison before it, if that is all the
  /// comparison is for. Returns its index; the target is set later by setTarget.
  /// `test` is where the condition is.
  size_t emitConditionalJump(const Value* condition, uint32_t test, bool wanted);
  void setTarget(size_t jump, size_t target) { code_.instructions[jump].a = static_cast<uint32_t>(target); }
  size_t here() { return last_label_ = code_.instructions.size(); }

  // Both.
  size_t add(Op op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, uint16_t n = 0);
  /// The register or constant; with kMoveBit if this is the last use.
  uint32_t operand(const Value* value, uint32_t flag);
  uint32_t borrowed(const Value* value) { return operand(value, ~0u); }
  void define(const Value* value);
  void drop(uint32_t variable);
  bool isBorrowed(uint32_t variable) const { return borrowed_of_[variable].index != kNoRegister; }
  void releaseDying(const Liveness::NodeInfo& info, size_t first_input = 0);
  uint32_t constant(c10::IValue value);
  uint32_t type(const c10::TypePtr& type);
  uint32_t methodSite(std::string name);
  void setLocation(const Node& node);

  Graph& graph_;
  Code& code_;
  SubgraphCompiler compile_subgraph_;
  const OutSites* out_sites_;                             // null if there are none
  const InnerViews* inner_views_;                         // null if there are none
  const std::unordered_set<const Node*>* lasting_lists_;  // null if there are none
  Liveness live_;
  Registers registers_;
  std::vector<uint32_t> constant_of_;  // per variable
  std::vector<uint8_t> scalar_;        // per variable: its type holds no reference
  /// What the run's memory keeps of a variable, instead of a register.
  struct Borrowed {
    uint32_t index = kNoRegister;
    uint32_t holder = kNoRegister;  // register of the list or tuple that it is an element of; none of a slot
  };
  std::vector<Borrowed> borrowed_of_;                       // per variable
  std::unordered_map<uint32_t, uint32_t> elements_needed_;  // by holder
  std::unordered_map<const Operator*, uint32_t> operator_index_;
  std::unordered_map<const c10::Type*, uint32_t> type_index_;
  std::unordered_map<const void*, uint32_t> function_index_;
  uint32_t none_ = kNoRegister;  // constant None
  uint32_t location_ = 0;
  size_t last_label_ = 0;  // no instruction before it may be merged with one after it

  // One per structural node: emit.cpp, of If and Loop emit_control.cpp.
#define STRUCTURE(Name, ...) void emit##Name(const Liveness::NodeInfo& info);
#define SUBGRAPH(Name, Kind)
#include "cresset/ir/structural.def"
  void emitSubgraph(const Liveness::NodeInfo& info);  // of all kinds
};

}  // namespace cresset
