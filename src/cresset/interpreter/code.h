// Code: a graph as instructions of a register machine.
//
// Each instruction names the registers that it reads and writes. A register that holds no live value holds None or a
// scalar, never a reference: values are moved out at their last use, or dropped where the last use depends on control
// flow. So entering a frame clears nothing, writing a register releases nothing, and tensors are freed as early as the
// program allows.
//
// Thread-safety: immutable but for the caches of call sites, which are published by atomics.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/inner_views.h"
#include "cresset/interpreter/compiled_subgraph.h"
#include "cresset/interpreter/hot_loops.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/out_variant.h"
#include "cresset/interpreter/strided_views.h"
#include "cresset/ops/operator.h"

namespace cresset {

enum class Op : uint16_t {
#define INST(Name, Format, Doc) Name,
#define SCALAR1(Name, ...) Name,
#define SCALAR2(Name, ...) Name,
#define COMPARE_JUMP(Name, ...) Name,
#define FLOAT_JUMP(Name, Compare, Negation, Relation) Name, Negation,
#include "cresset/interpreter/instructions.def"
  Count
};

/// How an instruction uses its fields; tells the disassembler how to print it.
enum class Format : uint8_t {
  None,
  Unary,
  Binary,
  Borrow,
  Drop,
  Jump,
  JumpOn,
  JumpCompare,
  Loop,
  Slot,
  Element,
  Update,
  Type,
  Pool,
  PoolOperator,
  PoolFunction,
  PoolMethod,
  PoolApart,
  PoolSubgraph,
  PoolOut,
  PoolGuard,
  PoolSlot,
  PoolType,
  PoolSlice,
};

struct OpInfo {
  const char* name;
  Format format;
  const char* operator_name;  // of scalar instructions; null for others
};
const OpInfo& opInfo(Op op);

/// The instruction that computes `op`, or Op::Count.
Op scalarInstruction(const Operator& op);
/// The operator that a scalar instruction stands for.
const Operator& operatorOfScalar(Op op);

struct Instruction {
  Op op;
  uint16_t n = 0;
  uint32_t a = 0, b = 0, c = 0;
};
static_assert(sizeof(Instruction) == 16);

/// Operands: an index of a register, a constant or a borrowed value, and how it is taken.
inline constexpr uint32_t kConstantBit = 1u << 31;
inline constexpr uint32_t kMoveBit = 1u << 30;
inline constexpr uint32_t kBorrowedBit = 1u << 29;  // what the run's memory keeps for this index (out_variant.h)
inline constexpr uint32_t kIndexMask = kBorrowedBit - 1;
inline constexpr uint32_t kNoRegister = ~0u;  // as an output: the value is dropped

/// The code of a callee, once it is known.
struct FunctionSite {
  explicit FunctionSite(torch::jit::Function* function) : function(function) {}
  torch::jit::Function* function;
  mutable std::atomic<const Code*> code{nullptr};
};

/// A call of a method by name. Remembers what it found for the first classes that it met.
class MethodSite {
 public:
  struct Target {
    c10::ClassTypePtr type;  // keeps the address from being used again
    torch::jit::Function* function;
    mutable std::atomic<const Code*> code{nullptr};
    const Target* next = nullptr;
  };
  struct Found {
    torch::jit::Function* function;
    const Target* target;  // null beyond kMaxTargets classes
  };
  explicit MethodSite(std::string name) : name_(std::move(name)) {}
  ~MethodSite();
  MethodSite(const MethodSite&) = delete;
  MethodSite& operator=(const MethodSite&) = delete;
  const std::string& name() const { return name_; }
  /// Throws ScriptRaise AttributeError if the class has no such method.
  Found find(const c10::ivalue::Object& object) const;

 private:
  static constexpr size_t kMaxTargets = 8;
  std::string name_;
  mutable std::atomic<const Target*> first_{nullptr};  // a list that only grows, at its head
};

class BailOutSite;   // bailout.h
class OperatorCall;  // operator_call.h

class Code {
 public:
  /// Where an instruction comes from.
  struct Location {
    SourceRange range;
    InlinedCallPtr inlined;
  };
  struct AttributeName {
    uint32_t instruction;
    c10::ClassTypePtr type;
    uint32_t slot;
  };

  std::string name;
  std::weak_ptr<Program> program;  // whose functions are called; a fork keeps it alive
  Limits limits;                   // of a call from outside
  size_t num_inputs = 0;
  size_t num_outputs = 0;
  size_t num_registers = 0;  // inputs come in the first ones
  std::vector<Instruction> instructions;
  std::vector<uint32_t> pool;
  std::vector<c10::IValue> constants;
  std::vector<const Operator*> operators;
  std::vector<const OperatorCall*> operator_calls;  // the same, of those that CallChecked calls by kernels; else null
  std::vector<StridedView> views;                   // the same, of those that CallView calls; else null
  std::vector<std::unique_ptr<FunctionSite>> functions;
  std::vector<std::unique_ptr<MethodSite>> methods;
  std::vector<c10::TypePtr> types;
  std::vector<std::vector<c10::TypePtr>> type_lists;  // of isinstance
  std::vector<std::shared_ptr<const Code>> apart;     // of forks and awaitables
  std::vector<std::shared_ptr<const CompiledSubgraph>> subgraphs;
  std::vector<OutSite> out_sites;  // with any, the code runs with a memory
  uint32_t num_borrowed = 0;       // that the memory keeps for it
  std::vector<std::shared_ptr<BailOutSite>> guards;
  std::vector<c10::TypePtr> apart_types;  // what their results are
  std::vector<uint32_t> location_of;      // per instruction, into `locations`
  std::vector<Location> locations;
  std::vector<AttributeName> attributes;  // of GetSlot and SetSlot, in order of instructions
  /// Of code that may be left for a plan.
  const HotLoops* hot_loops = nullptr;
  std::vector<LoopEntry> loops;
  bool serial_forks = false;  // forks of this program stay on the thread of the call (see forks.h)

  const Location& location(const Instruction* instruction) const {
    return locations[location_of[static_cast<size_t>(instruction - instructions.data())]];
  }
  /// Its place in the file that the author wrote, which archives remember; no range if nothing is known.
  SourceRange origin(const Instruction* instruction) const;
  /// "__torch__.C.x" for the GetSlot or SetSlot `instruction`.
  std::string attributeName(const Instruction* instruction) const;
};

struct EmitOptions {
  /// Of the graph's prim::BailOut nodes, by index.
  std::vector<std::shared_ptr<BailOutSite>> sites;
  /// Must outlive the code, and the graph too if it is given.
  const HotLoops* hot_loops = nullptr;
  /// Compiles the graph's subgraphs, those that run apart and those in its interpreted subgraphs; null if they are
  /// interpreted.
  SubgraphCompiler compile_subgraph = nullptr;
  /// Nodes that compute into the memory of the run; null if none does.
  const OutSites* out_sites = nullptr;
  /// Nodes that take a list apart which nothing writes to; their results may be borrowed from it. Null if none is.
  const std::unordered_set<const Node*>* lasting_lists = nullptr;
  /// Nodes whose results are views that autograd need not know; null if none is (analysis/inner_views.h).
  const InnerViews* inner_views = nullptr;
};
/// As emitCode; `program` owns the functions that the graph calls.
std::shared_ptr<const Code> emitCode(
    Graph& graph, std::string name, std::weak_ptr<Program> program, EmitOptions options = {});

}  // namespace cresset
