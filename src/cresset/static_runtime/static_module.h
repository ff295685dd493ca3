// Static runtime: a frozen module, a function or a graph, for inference at the lowest cost per operator.
//
//   cresset::StaticModule model(module);             // a cresset::Module, a Function, or a graph
//   at::Tensor y = model({x}).toTensor();            // from any number of threads
//   auto runtime = cresset::StaticRuntime(model);    // an instance of one's own: one thread at a time
//
// A static module is run by what runs all programs: it is a set of plans (executor/plan.h), one for each kind of
// arguments, made without guards. Weights, plans and code exist once, however many threads call it.
//
// Names and behaviour are those of torch's static runtime, except where it says otherwise here
// (docs/static-runtime.md). Results, aliasing, exceptions and what becomes of arguments are those of the module itself.
// Nothing is recorded for gradients: a call with an argument that requires one, while gradients are on, is an error.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/archive/archive.h"
#include "cresset/executor/executor.h"
#include "cresset/executor/plan_memory.h"
#include "cresset/interpreter/start_here.h"
#include "cresset/module/module.h"
#include "cresset/program/executable.h"

namespace cresset {

struct StaticModuleOptions {
  /// Whether operators compute their results into memory that the instance has for them, where they can.
  bool enable_out_variant = true;
  /// Whether results that are not needed at the same time may lie in the same place.
  bool optimize_memory = true;
  /// Whether results that leave the module lie in memory that the instance has for them, too. Whoever holds one keeps
  /// its memory: it is used again after the last reference.
  bool manage_output_tensors = false;
  /// Whether the memory of intermediate results is given back after each run, and allocated before the next.
  bool cleanup_activations = false;
  /// How the memory for intermediate results gets its size.
  MemoryPolicy memory_policy = MemoryPolicy::Standard;
  /// For tests: memory of intermediate results is filled with NaN when it is not needed any more.
  bool fill_freed_memory = false;
  /// Whether operators may become kernels of Cresset's own, alone and in groups.
  bool enable_fusion = true;
  /// Only calls with arguments of the kinds (dtypes, ranks, None or not) of the first are served; another raises
  /// UserError, which says what differs. Otherwise each kind has a plan of its own, and what no plan serves (a sparse
  /// tensor, a call inside of a trace) runs the unoptimized program.
  bool strict = false;
};

/// The options as JSON, by name: what an archive of a static module holds.
std::string toJson(const StaticModuleOptions& options);
/// Those that a JSON object has; the others are as in `defaults`. Throws UserError.
StaticModuleOptions staticModuleOptions(std::string_view json, const StaticModuleOptions& defaults = {});
/// The options that are true or false, by name; besides there is memory_policy.
std::span<const std::pair<const char*, bool StaticModuleOptions::*>> staticModuleFlags();
/// "standard" or "precomputed"; throws UserError for another.
MemoryPolicy memoryPolicyOf(std::string_view name);

/// How a node of a plan runs.
enum class StaticNodeKind : uint8_t {
  Out,       // an out variant: its results lie in memory that was laid out for the plan
  Kernel,    // a kernel of Cresset's: a group of operators, or a sequence of groups
  Native,    // an instruction of the interpreter's, or a builtin of Cresset's own
  Fallback,  // PyTorch's operator, through its dispatcher
};
/// "kernel"
std::string_view toString(StaticNodeKind kind);

/// What report tells of a static module.
struct StaticReport {
  struct Node {
    StaticNodeKind kind;
    std::string what;            // "aten::mm"
    std::string where;           // "model.py:7"; empty if unknown
    bool is_planned;             // some result lies in memory that was laid out
    std::optional<size_t> step;  // its position in program order; nothing if no memory was laid out for the plan
  };
  /// A result in memory that was laid out.
  struct Value {
    std::string name;
    size_t first, last;            // positions in program order at which it is needed
    bool is_output;                // it leaves the module, whose memory for it is the instance's
    bool turns;                    // a loop computes it for later iterations; it has no place in the arena
    std::string size;              // in bytes, over the sizes of arguments: "4 * x.size(0)"; "?" if that is not known
    std::optional<size_t> offset;  // in the instance's arena, if the report is one of an instance that has run the plan
    size_t bytes = 0;              // there
  };
  struct PlanReport {
    std::vector<std::string> inputs;  // "x: Float(*, *)"
    std::vector<Node> nodes;          // in program order, those of blocks after the node that has them
    std::vector<Value> values;        // in program order
    MemoryFigures memory;             // of the instance; zeros if there is none, or it has not run the plan
    std::shared_ptr<Graph> graph;     // optimized; must not be changed
  };
  std::string name;
  std::vector<PlanReport> plans;              // oldest first
  std::vector<std::string> errors;            // of the optimizer; such calls run the unoptimized program
  std::vector<std::string> unbound_variants;  // out variants that were registered for operators that there are not
  /// For people.
  std::string toString() const;
};

/// What benchmark_individual_ops measures; times in milliseconds, of a run with one list of arguments. Allocations are
/// what the run asks PyTorch's CPU allocator for, once memory has its sizes (AllocationCounter, ops/tensor_memory.h).
struct IndividualOps {
  struct Op {
    StaticNodeKind kind;
    std::string what;   // "aten::mm"; of a kernel, what it computes
    std::string where;  // "model.py:7"; empty if unknown
    double time;
    double calls;                         // in a run: a loop calls it several times, a branch that is not taken never
    double allocations, allocated_bytes;  // in a run, of all its calls: results that have no place, scratch
  };
  std::vector<Op> ops;                          // in program order, those that ran
  double first_iter_time = 0;                   // the first run of all, in which plans are made
  double total_time = 0;                        // a run, with what is no operator: memory, scalars, control flow
  double allocations = 0, allocated_bytes = 0;  // of a run
  double own_allocations = 0;                   // of these, not by PyTorch's operators (out variants and fallbacks)
  std::unordered_map<std::string, double> time_per_node_type;     // by Op::what
  std::unordered_map<std::string, double> percent_per_node_type;  // of the time in operators
  std::unordered_map<std::string, size_t> instances_per_node_type;
  size_t total_nodes_count = 0;
  size_t total_out_nodes_count = 0;  // with out variants
  /// For people: operators by their share of the time.
  std::string toString() const;
};

class StaticRuntime;
class StaticProgram;  // static_program.h
struct Plan;          // executor/plan.h

/// A reference: copies share the plans. Thread-safety: all of it may be called from any thread.
class StaticModule {
 public:
  /// The module's forward, frozen (module/freeze.h) with bits kept, in evaluation mode; `module` does not change. A
  /// module that is frozen already is taken as it is. Throws UserError if it can't be frozen.
  explicit StaticModule(const Module& module, const StaticModuleOptions& options = {});
  /// A function or a method; of a method, the object is the first argument.
  explicit StaticModule(Function& function, const StaticModuleOptions& options = {});
  /// A copy of a graph, which is checked.
  explicit StaticModule(const std::shared_ptr<Graph>& graph, const StaticModuleOptions& options = {});

  /// As Module::forward: arguments are checked and converted, defaults filled in.
  IValue operator()(std::vector<IValue> args, const Kwargs& kwargs = {}) const;

  /// Runs on the calling thread until it ends, or waits for a fork; then it goes on where that was run. Forks run on
  /// the launcher, without one on the pool of threads. Errors of the arguments are thrown, those of the run are the
  /// future's.
  c10::intrusive_ptr<c10::ivalue::Future> runAsync(
      std::vector<IValue> args, const Kwargs& kwargs = {}, TaskLauncher launcher = nullptr) const;

  const StaticModuleOptions& options() const;
  /// Arguments and result; the first argument is the module itself unless it was made of a function or a graph.
  const c10::FunctionSchema& schema() const;
  /// One instance that belongs to this module, made when it is first asked for: for one thread at a time.
  StaticRuntime& runtime() const;
  /// The plans that there are, and how their nodes run.
  StaticReport report() const;

  /// Writes the frozen module, or the function, with the options: an archive like others. Plans are made anew when it
  /// is loaded (loadStaticModule).
  void save(const std::string& path, ExtraFilesMap extra_files = {}) const;
  void save(std::ostream& out, ExtraFilesMap extra_files = {}) const;

  const std::shared_ptr<StaticProgram>& program() const { return program_; }

 private:
  std::shared_ptr<StaticProgram> program_;
};

/// The same as the constructor; the seed of a StaticRuntime for each thread.
StaticModule PrepareForStaticRuntime(const Module& module, const StaticModuleOptions& options = {});
StaticModule PrepareForStaticRuntime(const std::shared_ptr<Graph>& graph, const StaticModuleOptions& options = {});

/// The static module of an archive: one that StaticModule::save wrote, or any other. `options`: instead of those that
/// the archive has, if it has some.
StaticModule loadStaticModule(
    const std::string& path, LoadOptions load = {}, const std::optional<StaticModuleOptions>& options = std::nullopt);
StaticModule loadStaticModule(
    std::istream& in, LoadOptions load = {}, const std::optional<StaticModuleOptions>& options = std::nullopt);

/// An instance: what one thread at a time runs a static module with. It keeps the module alive. A call while another is
/// under way, of another thread or from inside of it, throws UserError.
class StaticRuntime {
 public:
  explicit StaticRuntime(const StaticModule& module);
  explicit StaticRuntime(std::shared_ptr<StaticProgram> program);
  explicit StaticRuntime(const Module& module, const StaticModuleOptions& options = {});
  ~StaticRuntime();
  StaticRuntime(const StaticRuntime&) = delete;
  StaticRuntime& operator=(const StaticRuntime&) = delete;
  /// Another instance of the same module.
  std::unique_ptr<StaticRuntime> clone() const;

  IValue operator()(std::vector<IValue> args, const Kwargs& kwargs = {});
  IValue run(std::vector<IValue> args, const Kwargs& kwargs = {}) { return (*this)(std::move(args), kwargs); }
  /// Makes the plan that a call with these arguments has, and memory for it: as much as is known to be needed, which is
  /// most with memory_policy = Precomputed, and none with Standard before a run. Runs nothing. Throws UserError if they
  /// have no plan.
  void prepare(std::vector<IValue> args, const Kwargs& kwargs = {});

  /// Milliseconds of a run, the mean of `main_runs` after `warmup_runs`, each with all of `args`.
  double benchmark(
      const std::vector<std::vector<IValue>>& args, const std::vector<Kwargs>& kwargs = {}, int warmup_runs = 3,
      int main_runs = 10);

  /// Times and allocations of the operators of the plan that these arguments have, each with the cost of measuring it
  /// (some 40 ns); allocations are counted in two more runs. All of `args` must be of the same kinds. Throws UserError
  /// if they have no plan.
  IndividualOps benchmark_individual_ops(
      const std::vector<std::vector<IValue>>& args, const std::vector<Kwargs>& kwargs = {}, int warmup_runs = 3,
      int main_runs = 10);

  /// With manage_output_tensors: forgets the memory of results, which is freed with the last reference to them.
  void deallocateOutputTensors();
  /// Frees the memory of intermediate results; the next run allocates it anew.
  void deallocateMemory();
  /// Throws InternalError if an intermediate result of a run that has ended is still referenced.
  void check_for_memory_leak() const;
  /// Of the plan that ran last.
  MemoryFigures memory() const;
  /// That of the module, with where results lie in the memory of this instance.
  StaticReport report() const;

 private:
  friend class StaticProgram;
  class Use;
  /// Of a plan with a memory.
  PlanMemory& memoryOf(const Plan& plan, const StaticModuleOptions& options);
  const PlanMemory* findMemory(uint64_t plan) const;

  std::shared_ptr<StaticProgram> program_;
  mutable std::atomic<bool> is_used_{false};
  std::vector<std::pair<uint64_t, std::unique_ptr<PlanMemory>>> memories_;  // by plan; that which ran last first
};

}  // namespace cresset
