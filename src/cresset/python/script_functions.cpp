// Sessions, and the declaration of Python functions.
//
// A body is compiled after its declaration, from a queue, unless a caller needs the type of its result earlier: the C++
// stack does not grow with the length of a chain of calls. The queue remembers from where each function was first
// called, for the stack of compilation in errors.
#include <ATen/core/class_type.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cresset/frontend/calls.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/definition_lock.h"
#include "cresset/python/script_declarations.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

/// From where a function was first called.
struct CallSite {
  Function* caller;  // null: from Python
  SourceRange range;
};

/// What the thread that holds the definition lock is at. One for the process: the lock guards it.
struct Compilation {
  int depth = 0;
  std::deque<Function*> queue;
  std::vector<Function*> compiled;  // in this session
  std::unordered_map<Function*, CallSite> call_sites;
  std::vector<std::function<void()>> undo;
  std::vector<Function*> being_compiled;  // innermost last
  std::vector<std::string> warnings;
  std::vector<std::pair<SourceRange, std::string>> attributes;  // functions that modules hold, where they are used
  std::vector<std::shared_ptr<Program>> programs;               // to which what is declared belongs, innermost last
  std::vector<std::shared_ptr<Program>> held;
  std::vector<std::unique_ptr<DefinitionScope>> scopes;   // of this session's program and others that it adds to
  std::unordered_set<Program*> changed;                   // their programs
  std::unordered_map<const Function*, Function*> copies;  // of functions of programs that are not Python's

  static Compilation& get() {
    static auto* instance = new Compilation;
    return *instance;
  }
  /// Before something is added to the program: so that it can be taken back.
  void change(Program& program) {
    if (!changed.insert(&program).second) return;
    held.push_back(program.shared_from_this());
    scopes.push_back(std::make_unique<DefinitionScope>(program));
  }
};

thread_local bool in_session = false;

/// The functions that were declared, by Python function. An entry is of use while its Program lives, and goes with its
/// key.
struct KnownFunctions {
  struct Entry {
    py::object weak;  // its end takes the entry out
    Function* function;
    std::weak_ptr<Program> program;
    std::shared_ptr<Program> kept;  // of functions that were scripted, not just called
  };
  std::unordered_map<PyObject*, Entry> entries;

  static KnownFunctions& get() {
    static auto* instance = new KnownFunctions;
    return *instance;
  }
  Function* find(py::handle function) {
    auto it = entries.find(function.ptr());
    if (it == entries.end()) return nullptr;
    std::shared_ptr<Program> program = it->second.program.lock();
    if (!program) return nullptr;
    ScriptSession::hold(std::move(program));
    return it->second.function;
  }
  void add(py::handle function, Function* declared) {
    PyObject* const key = function.ptr();
    py::object weak = weakReference(function, [key] { KnownFunctions::get().erase(key); });
    entries.insert_or_assign(key, Entry{std::move(weak), declared, declared->program().weak_from_this(), nullptr});
    ScriptSession::onRollback([this, key] { erase(key); });
  }
  void erase(PyObject* key) {
    // Taken out first: what goes with the program may come back here.
    const auto entry = entries.extract(key);
  }
};

/// Says that a module's attribute failed to compile, if the error is one of what a use of it needs.
UserError withAttribute(const UserError& error) {
  const auto& attributes = Compilation::get().attributes;
  for (const auto& [function, call] : error.compilationStack()) {
    const auto used = std::find_if(attributes.begin(), attributes.end(), [&call = call](const auto& attribute) {
      return call && attribute.first.source == call.source && attribute.first.begin == call.begin;
    });
    if (used == attributes.end()) continue;
    UserError said(
        error.message() + " (needed by " + used->second + ", a function that failed to compile)", error.range());
    for (const auto& [caller, range] : error.compilationStack()) said = said.withCaller(caller, range);
    return said;
  }
  return error;
}

UserError withCallers(UserError error, Function* function) {
  const auto& sites = Compilation::get().call_sites;
  std::vector<Function*> seen;
  for (auto it = sites.find(function); it != sites.end() && it->second.caller; it = sites.find(it->second.caller)) {
    if (std::find(seen.begin(), seen.end(), it->first) != seen.end()) break;
    seen.push_back(it->first);
    error = error.withCaller(it->first->name(), it->second.range);
  }
  // The outermost function, as the caller of the one before it.
  if (!error.compilationStack().empty()) {
    Function* outermost = seen.empty() ? function : sites.at(seen.back()).caller;
    error = error.withCaller(outermost->name(), {});
  }
  return withAttribute(error);
}

/// Whether the range is in a file of torch or of Python's library, which users don't write.
bool isInLibrary(const SourceRange& range) {
  static const auto* folders = new std::vector<std::string>([] {
    std::vector<std::string> result;
    for (const char* name : {"torch", "linecache"}) {
      const auto file = py::cast<std::string>(py::str(py::module_::import(name).attr("__file__")));
      result.push_back(file.substr(0, file.rfind('/') + 1));
    }
    return result;
  }());
  if (!range) return false;
  const std::string& file = range.source->name();
  if (file.find("/site-packages/") != std::string::npos) return file.starts_with(folders->front());
  return std::any_of(folders->begin(), folders->end(), [&](const std::string& f) { return file.starts_with(f); });
}

/// An error inside of a library's code, as an error of the line that called it.
UserError atUsersLine(const UserError& error) {
  const auto& stack = error.compilationStack();
  if (!isInLibrary(error.range())) return error;
  size_t i = 0;
  while (i < stack.size() && (!stack[i].second || isInLibrary(stack[i].second))) ++i;
  if (i == stack.size()) return error;
  std::string inner = error.range().highlight();
  if (!inner.empty()) inner.pop_back();
  UserError result("'" + stack[i].first + "' can't be compiled: " + error.message() + "\n" + inner, stack[i].second);
  for (++i; i < stack.size(); ++i) result = result.withCaller(stack[i].first, stack[i].second);
  return result;
}

void compileQueue() {
  auto& state = Compilation::get();
  while (!state.queue.empty()) {
    Function* function = state.queue.front();
    state.queue.pop_front();
    if (function->isBeingDefined()) continue;
    try {
      function->ensure_defined();
    } catch (const UserError& error) {
      throw atUsersLine(withCallers(error, function));
    }
    state.compiled.push_back(function);
  }
}

/// What can be said of functions only when those that they call are compiled too.
void checkCompiled() {
  for (Function* function : std::exchange(Compilation::get().compiled, {})) {
    try {
      checkOnlyReadsContainers(*function);
    } catch (const UserError& error) {
      throw atUsersLine(withCallers(error, function));
    }
  }
}

void enqueue(Function& function, const SourceRange& range) {
  auto& state = Compilation::get();
  Function* caller = state.being_compiled.empty() ? nullptr : state.being_compiled.back();
  state.call_sites.insert_or_assign(&function, CallSite{range ? caller : nullptr, range});
  state.queue.push_back(&function);
}

}  // namespace

void warnAfterCompilation(const std::string& warning) {
  auto& state = Compilation::get();
  if (state.depth == 0 || std::find(state.warnings.begin(), state.warnings.end(), warning) != state.warnings.end())
    return;
  state.warnings.push_back(warning);
}

namespace {

struct NowCompiling {
  explicit NowCompiling(Function& function) : program(function.program()) {
    Compilation::get().being_compiled.push_back(&function);
  }
  ~NowCompiling() { Compilation::get().being_compiled.pop_back(); }
  InProgram program;
};

}  // namespace

/// A decorator that replaced the function (functools.wraps): it is left out, as torch.jit does, but not silently.
void noteWrapper(py::handle wrapper, const py::object& function) {
  if (!PyFunction_Check(wrapper.ptr()) || py::hasattr(wrapper, "__script_if_tracing_wrapper")) return;
  Compilation::get().warnings.push_back(
      "'" + py::cast<std::string>(function.attr("__qualname__")) +
      "' is compiled without its decorator, which scripts can't run: what the decorator does before and after the call "
      "is "
      "left out");
}

Function& declareBody(const c10::QualifiedName& name, FunctionBody body, py::handle python, const SourceRange& range) {
  // A method belongs where its class does: the class refers to it.
  std::shared_ptr<Program> owner;
  if (const auto cls = body.self_type ? body.self_type->cast<c10::ClassType>() : nullptr) owner = programOf(*cls);
  Program& program = owner ? *owner : currentProgram();
  const InProgram here(program);
  const Def def = body.def;
  const bool is_init = body.self_type && def.name().name() == "__init__";
  // The schema comes first: reading annotations may lead back here, and what it declares must be complete by then.
  std::optional<c10::FunctionSchema> schema;
  if (def.decl().returnType().present() || is_init) {
    schema = schemaOf(def, program, body.resolver, body.self_type);
    if (is_init && schema->returns().empty())
      schema = schema->cloneWithReturns({c10::Argument("", c10::NoneType::get())});
    schema = c10::FunctionSchema(
        name.name(), "", schema->arguments(), schema->returns(), schema->is_vararg(), schema->is_varret());
  }
  Function& function = program.declare(program.mangle(name), [body = std::move(body)](Function& f) {
    NowCompiling now(f);
    tidyDefinition(compileBody(f, body));
  });
  function.setSourceRange(def.range());
  if (schema) function.setSchema(std::move(*schema));
  if (python) {
    py::object doc = py::getattr(python, "__doc__", py::none());
    if (PyUnicode_Check(doc.ptr())) function.setDocString(py::cast<std::string>(doc));
  }
  enqueue(function, range);
  return function;
}

Function& declareCopy(Function& original, const SourceRange& range) {
  auto& state = Compilation::get();
  if (const auto known = state.copies.find(&original); known != state.copies.end()) return *known->second;
  ScriptSession::hold(original.program().shared_from_this());
  original.ensure_defined();
  const std::shared_ptr<Graph> body = original.graph()->copy();
  inlineCalls(*body);
  const c10::QualifiedName& name = original.qualname();
  Program& program = currentProgram();
  const InProgram here(program);
  Function& copy = program.declare(
      program.mangle(name.prefix().empty() ? c10::QualifiedName("__torch__", name.name()) : name),
      [body](Function& declared) { declared.setGraph(body); });
  copy.setSchema(original.getSchema());
  enqueue(copy, range);
  return *(state.copies[&original] = &copy);
}

struct ScriptSession::Impl {
  std::unique_lock<std::recursive_mutex> lock;
  bool outermost = false;
};

ScriptSession::ScriptSession() : impl_(std::make_unique<Impl>()) {
  auto& state = Compilation::get();
  impl_->lock = lockDefinitions(pythonFamily()->definition_mutex);
  impl_->outermost = state.depth++ == 0;
  if (!impl_->outermost) return;
  in_session = true;
  state.programs.push_back(makePythonProgram());
  state.change(*state.programs.back());
}

ScriptSession::~ScriptSession() {
  auto& state = Compilation::get();
  --state.depth;
  if (!impl_->outermost) return;  // the outermost session decides
  in_session = false;
  for (size_t i = state.undo.size(); i-- > 0;) state.undo[i]();
  state.undo.clear();
  state.queue.clear();
  state.compiled.clear();
  state.call_sites.clear();
  state.attributes.clear();
  state.warnings.clear();
  state.scopes.clear();
  state.changed.clear();
  state.copies.clear();
  // The end of a program may run Python code, and that another session.
  const auto programs = std::exchange(state.programs, {}), held = std::exchange(state.held, {});
  impl_->lock.unlock();
}

void ScriptSession::finish() {
  compileQueue();
  if (!impl_->outermost) return;
  checkCompiled();
  auto& state = Compilation::get();
  for (const std::string& warning : std::exchange(state.warnings, {})) {
    if (PyErr_WarnEx(known("cresset._errors", "ScriptWarning").ptr(), warning.c_str(), 2) != 0)
      throw py::error_already_set();
  }
  state.undo.clear();
  for (const auto& scope : state.scopes) scope->commit();
}

void ScriptSession::onRollback(std::function<void()> undo) {
  auto& state = Compilation::get();
  if (state.depth > 0) state.undo.push_back(std::move(undo));
}

void ScriptSession::hold(std::shared_ptr<Program> program) {
  // Conversions of values look types up too, without the lock.
  if (in_session) Compilation::get().held.push_back(std::move(program));
}

Program& currentProgram() {
  auto& programs = Compilation::get().programs;
  if (programs.empty())
    throw UserError("This function is a part of compiling a program, and nothing is compiled: call cresset.script");
  return *programs.back();
}

InProgram::InProgram(Program& program) {
  auto& state = Compilation::get();
  state.programs.push_back(program.shared_from_this());
  if (state.depth > 0) state.change(program);
}

InProgram::~InProgram() {
  auto& programs = Compilation::get().programs;
  const std::shared_ptr<Program> last = std::move(programs.back());
  programs.pop_back();
}

Function* functionBeingCompiled() {
  auto& stack = Compilation::get().being_compiled;
  return stack.empty() ? nullptr : stack.back();
}

Mark markOf(py::handle function) {
  // The modifier is a sentence that begins with the decorator's name.
  static constexpr std::pair<std::string_view, Mark> kModifiers[] = {
      {"unused ", Mark::Unused}, {"ignore ", Mark::Ignore}, {"export ", Mark::Export}, {"_drop ", Mark::IgnoreDrop}};
  py::object modifier = attributeOrNull(function, "_torchscript_modifier");
  if (!modifier || !PyUnicode_Check(modifier.ptr())) return Mark::None;
  const auto text = py::cast<std::string>(modifier);
  for (const auto& [prefix, mark] : kModifiers) {
    if (text.starts_with(prefix)) return mark;
  }
  return Mark::None;
}

c10::QualifiedName qualifiedNameOf(py::handle object) {
  py::object name = attributeOrNull(object, "__name__");
  std::string short_name = name ? py::cast<std::string>(py::str(name)) : typeName(object.ptr());
  if (short_name == "<lambda>") short_name = "_lambda";
  py::object module = attributeOrNull(object, "__module__");
  std::string path = "__torch__";
  if (module && PyUnicode_Check(module.ptr())) {
    const auto text = py::cast<std::string>(module);
    if (text != "__main__") path += "." + text;
  }
  // Names of modules that are no identifiers (`python -m a-b`, notebooks' cells) would make a name that no text can
  // say.
  for (char& c : path) {
    if (c != '.' && c != '_' && !std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return c10::QualifiedName(c10::QualifiedName(path), short_name);
}

void noteAttribute(const SourceRange& use, std::string attribute) {
  Compilation::get().attributes.emplace_back(use, std::move(attribute));
}

Function& declareFunction(py::handle wrapped, const SourceRange& range) {
  const py::object function = unwrapFunction(wrapped);
  if (Function* known = KnownFunctions::get().find(function)) return *known;
  MethodOptions options;
  options.name = qualifiedNameOf(function);
  options.range = range;
  try {
    Function& declared = declareMethod(wrapped, options);
    KnownFunctions::get().add(function, &declared);
    return declared;
  } catch (const UserError& error) {
    // The outermost function stands on the stack only as the caller of what it names.
    if (!range && error.compilationStack().empty()) throw;
    throw error.withCaller(options.name.name(), range);
  }
}

void keepCompiled(py::handle wrapped) {
  auto& entries = KnownFunctions::get().entries;
  const auto it = entries.find(unwrapFunction(wrapped).ptr());
  if (it != entries.end()) it->second.kept = it->second.program.lock();
}

}  // namespace cresset::python
