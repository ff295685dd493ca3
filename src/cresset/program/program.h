// A Program owns functions and types, the way a shared library does: append-only, shared by any number of threads,
// modules and graphs; and freed as a whole, when nothing refers to it (docs/decisions/0009-ownership.md).
//
// Types refer to their Program (so that same-named classes of two programs differ), objects keep it alive. A Program
// keeps alive those whose functions and types its own code uses. Definitions are lazy: a function may be declared by a
// schema and a definer, which builds its graph on first use.
//
// Thread-safety: everything here may be called from any thread. A function's definer runs once, under a lock of the
// Program's that lets the same thread define further functions.
#pragma once

#include <ATen/core/function.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/qualified_name.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/program/executable.h"
#include "cresset/program/rules.h"

namespace cresset {

class Program;

/// A named function with a graph. Methods are functions whose first argument is `self`.
class Function final : public torch::jit::Function {
 public:
  using Definer = std::function<void(Function&)>;

  const c10::QualifiedName& qualname() const override { return name_; }
  Program& program() const { return *program_; }

  /// Declared, or known after definition.
  const c10::FunctionSchema& getSchema() const override;
  size_t num_inputs() const override { return getSchema().arguments().size(); }
  torch::jit::Function& setSchema(c10::FunctionSchema schema) override;
  bool hasSchema() const;

  /// Runs the definer if that has not happened. Throws UserError if the body is wrong (again at each call), or if the
  /// function is being defined further up on this thread's stack (recursion).
  void ensure_defined() override;
  bool isDefined() const { return state_.load(std::memory_order_acquire) == State::Defined; }
  /// Whether its definer runs now; asked by definers, so that one need not be asked for what it is about to define.
  bool isBeingDefined() const { return state_.load(std::memory_order_acquire) == State::Defining; }
  /// What runs; defined first if needed. Must not be changed once the function has run.
  const std::shared_ptr<Graph>& graph();
  /// The graph as its users see and edit it: a copy of graph(), made by the first call, which hands it to `prepare`,
  /// and kept. As in torch.jit, edits before the function's first run are what it runs; later ones show in definition()
  /// only. Edits and runs at one time are the caller's to synchronize.
  std::shared_ptr<Graph> editableGraph(const std::function<void(Graph&)>& prepare);
  /// What is printed, saved and frozen: the graph as it was last edited, or graph(). Throws UserError if the edited
  /// graph is not valid, or does not have the inputs and the output of the schema.
  std::shared_ptr<Graph> definition();
  /// For definers, and for what replaces the body before the first run: what editableGraph() returned before is
  /// detached.
  void setGraph(std::shared_ptr<Graph> graph);

  /// Of each call from outside: those of the program, and of the programs that its graph comes from.
  Limits limits() const;

  /// The code that runs; compiled on first use by compileFunction.
  const Executable& executable();
  /// Pops num_inputs() arguments, pushes the result. Arguments are not checked.
  void run(Stack& stack) override;
  bool isGraphFunction() const override { return true; }

  std::string_view doc_string() const override { return doc_; }
  void setDocString(std::string doc) { doc_ = std::move(doc); }
  /// Where the `def` stands.
  const SourceRange& sourceRange() const { return range_; }
  void setSourceRange(SourceRange range) { range_ = std::move(range); }

  Function(Program& program, c10::QualifiedName name, Definer definer);
  ~Function() override;

 private:
  enum class State { Declared, Defining, Defined };
  bool isEdited() const { return editable_ && !(editable_->edits() == prepared_edits_); }
  void checkEdits() const;
  void adoptEdits();

  Program* program_;
  c10::QualifiedName name_;
  Definer definer_;
  std::atomic<State> state_;
  std::unique_ptr<c10::FunctionSchema> schema_;  // set once, published by has_schema_
  std::atomic<bool> has_schema_{false};
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<Graph> editable_;
  EditCounts prepared_edits_, adopted_edits_;  // of editable_: when it was handed out, when graph() last followed it
  std::atomic<bool> has_editable_{false};
  std::list<std::shared_ptr<Graph>> followed_;  // copies of editable_ that graph() has returned
  std::atomic<const std::shared_ptr<Graph>*> current_{&graph_};
  std::shared_ptr<const Executable> executable_;
  std::atomic<const Executable*> executable_ptr_{nullptr};
  std::string doc_;
  SourceRange range_;
};

/// Programs whose code refers to each other's: they define under one lock, and no two live ones have a name in common,
/// so that their types and functions can stand in one archive or message.
struct ProgramFamily {
  std::recursive_mutex definition_mutex;
  std::mutex mutex;                                                    // of what follows; taken after that of a program
  std::unordered_map<c10::QualifiedName, const Program*> names;        // and who has them
  std::unordered_map<const c10::Type*, std::weak_ptr<Program>> types;  // of those that live
  size_t next_mangle = 0;
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  static std::shared_ptr<Program> make(std::shared_ptr<ProgramFamily> family = nullptr) {
    return std::make_shared<Program>(Tag(), std::move(family));
  }
  ~Program();
  /// Null if it has none.
  const std::shared_ptr<ProgramFamily>& family() const { return family_; }
  /// How many there are in this process; for tests of what keeps them alive.
  static size_t numLive();

  /// This program in the form that c10's types and objects ask for (it aliases a pointer that is never followed).
  std::shared_ptr<torch::jit::CompilationUnit> asCompilationUnit();

  /// Declares a function; throws UserError if the name is taken. Methods are declared with their class's name as
  /// prefix and added to the class by the caller.
  Function& declare(c10::QualifiedName name, Function::Definer definer);
  Function* findFunction(const c10::QualifiedName& name) const;
  /// In order of declaration, methods included.
  std::vector<Function*> functions() const;

  /// A class, interface, enum or named tuple. Throws UserError if the name is taken.
  void registerType(const c10::NamedTypePtr& type);
  c10::NamedTypePtr findType(const c10::QualifiedName& name) const;
  c10::ClassTypePtr findClass(const c10::QualifiedName& name) const;
  std::vector<c10::NamedTypePtr> types() const;

  /// Whatever is added to the program later obeys them, too. Set before anything of it is defined.
  void setRules(ProgramRules rules);
  void setRules(std::shared_ptr<const ProgramRules> rules) { rules_ = std::move(rules); }
  const ProgramRules& rules() const;
  /// Null if it may do anything.
  const std::shared_ptr<const ProgramRules>& sharedRules() const { return rules_; }

  /// `name`, or with a number in its last module atom ("___torch_mangle_3") if it is taken.
  c10::QualifiedName mangle(const c10::QualifiedName& name);

  /// Keeps `other` alive as long as this one.
  void use(const std::shared_ptr<Program>& other);
  /// From now on, what is defined here may refer to other programs, which are found and used. Programs of a family may
  /// from the start. What belongs to a function, as its gradients do, must not: the function's own program would be
  /// kept for ever.
  void allowUses() { may_use_others_ = true; }
  /// Uses the programs of the functions and types that the graph or the type refers to.
  void usePrograms(const Graph& graph);
  void usePrograms(const c10::NamedType& type);

  /// Something that lives as long as this program.
  void own(std::shared_ptr<void> companion);

  /// Whether what the program's constants are computed from and to, `bytes` more now, stays within `limit`.
  bool chargeConstants(size_t bytes, size_t limit) {
    return bytes <= limit && constant_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit;
  }

  /// Held while definers run, and by whoever declares or registers.
  std::recursive_mutex& definitionMutex() { return family_ ? family_->definition_mutex : definition_mutex_; }

  struct Tag {
    explicit Tag() = default;
  };
  Program(Tag, std::shared_ptr<ProgramFamily> family);

 private:
  friend class DefinitionScope;
  void takeName(const c10::QualifiedName& name);     // mutex_ is held
  void releaseName(const c10::QualifiedName& name);  // mutex_ is held
  void rollBack(size_t num_functions, size_t num_types);
  void releaseUsed();

  mutable std::mutex mutex_;
  const std::shared_ptr<ProgramFamily> family_;
  std::recursive_mutex definition_mutex_;  // of a program without a family
  bool may_use_others_;
  std::shared_ptr<const ProgramRules> rules_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::unordered_map<c10::QualifiedName, Function*> function_index_;
  std::vector<c10::NamedTypePtr> types_;
  std::unordered_map<c10::QualifiedName, c10::NamedTypePtr> type_index_;
  size_t next_mangle_ = 0;
  std::atomic<size_t> constant_bytes_{0};
  // What a DefinitionScope took back. Kept, because graphs compiled meanwhile may refer to it.
  std::vector<std::unique_ptr<Function>> removed_functions_;
  std::vector<c10::NamedTypePtr> removed_types_;
  std::vector<std::shared_ptr<void>> companions_;
  std::unordered_set<std::shared_ptr<Program>> used_;
};

/// Makes the definition of several functions and types one step: unless commit() is called, the destructor takes back
/// all that was declared and registered since (methods are removed from classes that stay). Scopes nest. Other threads'
/// definitions wait until the scope ends, so that it never takes back theirs.
class DefinitionScope {
 public:
  explicit DefinitionScope(Program& program);
  ~DefinitionScope();
  DefinitionScope(const DefinitionScope&) = delete;
  DefinitionScope& operator=(const DefinitionScope&) = delete;
  void commit();

 private:
  Program& program_;
  std::unique_lock<std::recursive_mutex> lock_;
  size_t num_functions_, num_types_;
  bool committed_ = false;
};

/// The Program that owns a class made through it; null for custom C++ classes, and if it is gone.
std::shared_ptr<Program> programOf(const c10::ClassType& type);
/// The Programs of all types that a type consists of, those of named tuples, enums and interfaces only if they are of
/// the family. Who holds a type for the sake of values to come holds these too.
std::vector<std::shared_ptr<Program>> programsOf(const c10::TypePtr& type, ProgramFamily* family);

}  // namespace cresset
