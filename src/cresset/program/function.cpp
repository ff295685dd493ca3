// Function: lazy definition and lazy compilation of one function.
//
// Both happen once, under the Program's definition mutex, and are published by an atomic (state_, executable_ptr_), so
// that a call of a function that has run before takes no lock.
#include "cresset/program/program.h"

#include <utility>
#include <vector>

#include "cresset/ir/verifier.h"
#include "cresset/ir/without_shapes.h"
#include "cresset/ops/operator.h"
#include "cresset/program/definition_lock.h"
#include "cresset/program/shown_types.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// The schema of a function that was given as a graph only.
c10::FunctionSchema schemaOfGraph(const c10::QualifiedName& name, const Graph& graph) {
  std::vector<c10::Argument> arguments, returns;
  for (const Value* input : graph.inputs()) arguments.emplace_back(input->debugName(), input->type());
  for (const Value* output : graph.outputs()) returns.emplace_back("", output->type());
  return c10::FunctionSchema(name.name(), "", std::move(arguments), std::move(returns));
}

/// How deep definers may run inside each other. A definer asks for the functions that it calls, if it needs their
/// results' types; the C++ stack must not grow with the length of such a chain.
constexpr int kMaxNestedDefinitions = 50;
thread_local int nested_definitions = 0;

/// Leaves all running definers of this thread; the outermost ensure_defined defines `function` and starts again. No
/// std::exception, so that definers let it through.
struct DefineFirst {
  Function* function;
};

}  // namespace

Function::Function(Program& program, c10::QualifiedName name, Definer definer)
    : program_(&program), name_(std::move(name)), definer_(std::move(definer)), state_(State::Declared) {}

Function::~Function() = default;

bool Function::hasSchema() const {
  return has_schema_.load(std::memory_order_acquire);
}

const c10::FunctionSchema& Function::getSchema() const {
  // Definition is invisible to callers: it computes what the declaration already means.
  if (!hasSchema()) const_cast<Function*>(this)->ensure_defined();
  return *schema_;
}

torch::jit::Function& Function::setSchema(c10::FunctionSchema schema) {
  const auto lock = lockDefinitions(*program_);
  if (hasSchema()) {
    // A definer that failed and runs again states the schema again; readers hold references to the first one.
    if (*schema_ == schema) return *this;
    throw UserError("the schema of '" + name_.qualifiedName() + "' is already set and can't be changed");
  }
  schema_ = std::make_unique<c10::FunctionSchema>(std::move(schema));
  has_schema_.store(true, std::memory_order_release);
  return *this;
}

void Function::ensure_defined() {
  if (isDefined()) return;
  const auto lock = lockDefinitions(*program_);
  switch (state_.load(std::memory_order_relaxed)) {
    case State::Defined:
      return;
    case State::Defining:
      throw UserError(
          "function '" + name_.name() +
              "' is called recursively. Annotate the types of its arguments and of its "
              "result so that it can be called before its body is compiled",
          range_);
    case State::Declared:
      break;
  }
  if (!definer_) throw UserError("function '" + name_.qualifiedName() + "' has no body", range_);

  const auto define = [](Function& f) {
    struct Nesting {
      Nesting() { ++nested_definitions; }
      ~Nesting() { --nested_definitions; }
    } nesting;
    f.state_.store(State::Defining, std::memory_order_relaxed);
    try {
      f.definer_(f);
      CRESSET_CHECK(f.graph_ != nullptr, "the definer of '" + f.name_.qualifiedName() + "' set no graph");
      addRules(*f.graph_, f.program_->sharedRules());
      if (!f.hasSchema()) f.setSchema(schemaOfGraph(f.name_, *f.graph_));
      f.program_->usePrograms(*f.graph_);
    } catch (...) {
      f.graph_ = nullptr;
      f.state_.store(State::Declared, std::memory_order_relaxed);
      throw;
    }
    f.definer_ = nullptr;  // it keeps trees and resolvers alive
    f.state_.store(State::Defined, std::memory_order_release);
  };

  if (nested_definitions > 0) {
    if (nested_definitions >= kMaxNestedDefinitions) throw DefineFirst{this};
    return define(*this);
  }
  // The chain of functions that wait for the last of them. They count as being defined, so that a cycle is noticed.
  // Each runs its definer twice at most: the first time it gets stuck, the second time what it needs is there.
  std::vector<Function*> waiting{this};
  while (!waiting.empty()) {
    try {
      define(*waiting.back());
      waiting.pop_back();
    } catch (const DefineFirst& first) {
      waiting.back()->state_.store(State::Defining, std::memory_order_relaxed);
      waiting.push_back(first.function);
    } catch (...) {
      for (Function* function : waiting) function->state_.store(State::Declared, std::memory_order_relaxed);
      throw;
    }
  }
}

const std::shared_ptr<Graph>& Function::graph() {
  ensure_defined();
  if (has_editable_.load(std::memory_order_acquire) && !executable_ptr_.load(std::memory_order_acquire)) {
    const auto lock = lockDefinitions(*program_);
    if (!executable_) adoptEdits();
  }
  return *current_.load(std::memory_order_acquire);
}

std::shared_ptr<Graph> Function::editableGraph(const std::function<void(Graph&)>& prepare) {
  ensure_defined();
  const auto lock = lockDefinitions(*program_);
  if (!editable_) {
    auto copy = graph_->copy();
    prepare(*copy);
    prepared_edits_ = adopted_edits_ = copy->edits();
    editable_ = std::move(copy);
    has_editable_.store(true, std::memory_order_release);
  }
  return editable_;
}

std::shared_ptr<Graph> Function::definition() {
  ensure_defined();
  if (has_editable_.load(std::memory_order_acquire)) {
    const auto lock = lockDefinitions(*program_);
    if (isEdited()) {
      checkEdits();
      return editable_;
    }
  }
  return graph();
}

void Function::checkEdits() const {
  const auto refuse = [&](const std::string& what) {
    throw UserError("the graph of '" + name_.qualifiedName() + "' was edited, and is not valid any more: " + what);
  };
  try {
    verifyEdited(*editable_);
    verifyOperators(*editable_);
  } catch (const UserError& error) {
    refuse(error.message());
  }
  const auto& arguments = getSchema().arguments();
  const auto& returns = getSchema().returns();
  if (editable_->inputs().size() != arguments.size() || editable_->outputs().size() != returns.size())
    refuse("its inputs and outputs are not those of " + c10::toString(getSchema()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].type()->isSubtypeOf(*withoutShapes(editable_->inputs()[i]->type())))
      refuse("the type of input " + std::to_string(i) + " is not that of " + c10::toString(getSchema()));
  }
}

/// graph() follows the edits of editableGraph(), if there is one. The definition mutex is held.
void Function::adoptEdits() {
  if (!editable_ || editable_->edits() == adopted_edits_) return;
  checkEdits();
  followed_.push_back(editable_->copy());
  forgetTensorTypes(*followed_.back());  // sizes that a trace has seen are those of one call
  adopted_edits_ = editable_->edits();
  program_->usePrograms(*followed_.back());
  current_.store(&followed_.back(), std::memory_order_release);
}

void Function::setGraph(std::shared_ptr<Graph> graph) {
  const auto lock = lockDefinitions(*program_);
  if (executable_) {
    throw UserError("the graph of '" + name_.qualifiedName() + "' can't be changed: the function has been compiled");
  }
  graph_ = std::move(graph);
  has_editable_.store(false, std::memory_order_release);
  editable_ = nullptr;
  current_.store(&graph_, std::memory_order_release);
  if (state_.load(std::memory_order_relaxed) == State::Defining) return;  // ensure_defined finishes
  CRESSET_CHECK(graph_ != nullptr, "setGraph(null) on '" + name_.qualifiedName() + "'");
  addRules(*graph_, program_->sharedRules());
  if (!hasSchema()) setSchema(schemaOfGraph(name_, *graph_));
  program_->usePrograms(*graph_);
  definer_ = nullptr;
  state_.store(State::Defined, std::memory_order_release);
}

Limits Function::limits() const {
  const Limits& own = program_->rules().limits;
  if (!isDefined()) return own;
  const Graph& graph = **current_.load(std::memory_order_acquire);
  return graph.rules().empty() ? own : tightest(own, limitsOf(graph));
}

const Executable& Function::executable() {
  if (const Executable* ready = executable_ptr_.load(std::memory_order_acquire)) return *ready;
  ensure_defined();
  const auto lock = lockDefinitions(*program_);
  if (!executable_) {
    adoptEdits();
    executable_ = compileFunction(*this);
    executable_ptr_.store(executable_.get(), std::memory_order_release);
  }
  return *executable_;
}

void Function::run(Stack& stack) {
  if (const Executable* ready = executable_ptr_.load(std::memory_order_acquire)) [[likely]]
    return ready->run(stack);
  const CallLimits within(limits());  // for compiling, too
  try {
    executable().run(stack);
  } catch (const ScriptRaise& error) {
    if (error.pythonClass() != kLimitErrorClass) throw;
    throw LimitError(error.what(), error.pythonClass(), {});
  }
}

}  // namespace cresset
