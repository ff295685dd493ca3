// The rules of the policy. See policy.h, and the decision record for what was weighed.
#include "cresset/ops/policy.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>

#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using std::string_view;

/// Libraries of operators that are part of PyTorch and compute with their arguments only. Its others run Python code
/// (prims, higher_order), talk to other processes (c10d, symm_mem), or belong to compilers (inductor, export).
constexpr std::array<string_view, 8> kKnownNamespaces = {
    "aten", "prim", "quantized", "_quantized", "sparse", "mkldnn_prepacked", "prepacked", "profiler"};

constexpr string_view kCppClasses = "__torch__.torch.classes.";
/// Namespaces of C++ classes: packed weights of the operators above (ops/class_state_checks.h), and the profiler's
/// record.
constexpr std::array<string_view, 3> kKnownClassNamespaces = {"quantized", "xnnpack", "profiler"};
/// Packed weights whose states are indices of a sparse matrix, and arguments and weights of kernels that believe them.
constexpr std::array<string_view, 3> kUncheckedClassNamespaces = {"sparse", "mkldnn", "rnn"};

template <size_t count>
bool isOneOf(string_view name, const std::array<string_view, count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What names a kernel that PyTorch's own operators call, and not a function of its Python modules: its schema says
/// nothing of what must hold of its arguments, and the kernel believes them.
constexpr string_view kInternalPrefixes[] = {"_",      "native_",   "mkldnn_", "miopen_",
                                             "cudnn_", "slow_conv", "thnn_",   "fbgemm_"};
constexpr string_view kInternalParts[] = {"_backward", "_forward"};

bool matches(string_view pattern, string_view full_name) {
  if (pattern.ends_with('*')) return full_name.starts_with(pattern.substr(0, pattern.size() - 1));
  // A name without an overload stands for all of them.
  return full_name == pattern || (pattern.find('.') == string_view::npos && full_name.size() > pattern.size() &&
                                  full_name.starts_with(pattern) && full_name[pattern.size()] == '.');
}

bool mentions(const c10::Type& type, c10::TypeKind kind) {
  if (type.kind() == kind) return true;
  for (const auto& inner : type.containedTypes()) {
    if (mentions(*inner, kind)) return true;
  }
  return false;
}

/// Whether a row of the table says so, of this overload or of all.
bool isCalledByPrograms(const c10::FunctionSchema& schema, string_view full_name) {
  const OperatorRow* row = findOperatorRow(full_name);
  const OperatorRow* overloads = findOverloadsRow(schema.name());
  return (row && row->called_by_programs) || (overloads && overloads->called_by_programs);
}

bool isInternal(const c10::FunctionSchema& schema, string_view full_name) {
  const string_view name = string_view(schema.name()).substr(schema.name().find("::") + 2);
  // `__and__` and its like are Python's operators.
  const bool is_named_so = !name.starts_with("__") &&
                           (std::any_of(
                                std::begin(kInternalPrefixes), std::end(kInternalPrefixes),
                                [&](string_view prefix) { return name.starts_with(prefix); }) ||
                            std::any_of(std::begin(kInternalParts), std::end(kInternalParts), [&](string_view part) {
                              return name.find(part) != string_view::npos;
                            }));
  if (!is_named_so) return false;
  // Results that are written to are believed, too, in these.
  return hasOutArgument(schema) || !isCalledByPrograms(schema, full_name);
}

/// What an argument is for, by its name: no operator of PyTorch takes such a string for another purpose.
bool namesFile(string_view argument) {
  return argument.find("file") != string_view::npos || argument.find("path") != string_view::npos;
}

}  // namespace

Restriction restrictionOf(const c10::FunctionSchema& schema) {
  const string_view name = schema.name();
  const string_view space = name.substr(0, name.find("::"));
  if (!isOneOf(space, kKnownNamespaces)) return Restriction::Foreign;
  const std::string full_name =
      schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
  for (const OperatorRow* row : {findOperatorRow(full_name), findOverloadsRow(schema.name())}) {
    if (row && row->restriction != Restriction::None) return row->restriction;
  }
  // What takes or makes packed weights as tensors whose bytes are a pointer.
  if (full_name.find("legacy") != std::string::npos && space.ends_with("quantized")) return Restriction::RawMemory;
  if (name.find("data_ptr") != string_view::npos || name.find("from_blob") != string_view::npos) {
    return Restriction::RawMemory;
  }
  for (const c10::Argument& argument : schema.arguments()) {
    if (mentions(*argument.type(), c10::TypeKind::StorageType)) return Restriction::RawMemory;
    if (mentions(*argument.type(), c10::TypeKind::StringType) && namesFile(argument.name())) return Restriction::Files;
  }
  return isInternal(schema, full_name) ? Restriction::Internal : Restriction::None;
}

std::string_view reasonOf(Restriction restriction) {
  switch (restriction) {
    case Restriction::None:
      return "";
    case Restriction::Files:
      return "it reads or writes files";
    case Restriction::RawMemory:
      return "it does not check what its arguments say of memory";
    case Restriction::Crashes:
      return "it ends the process for some arguments";
    case Restriction::Internal:
      return "it is a kernel that PyTorch calls for itself, which does not check its arguments";
    case Restriction::Foreign:
      return "it is not one of PyTorch's own, so nothing is known of it";
  }
  return "";
}

std::string howToTrust(Door door) {
  switch (door) {
    case Door::Cpp:
      return "LoadOptions{.trusted = true}";
    case Door::Python:
      return "trusted=True";
    case Door::Command:
      return "--trusted";
  }
  return "";
}

std::string howToAllow(Door door, string_view name) {
  switch (door) {
    case Door::Cpp:
      return "LoadOptions{.allow_ops = {\"" + std::string(name) + "\"}}";
    case Door::Python:
      return "allow_ops=['" + std::string(name) + "']";
    case Door::Command:
      return "--allow-op " + std::string(name);
  }
  return "";
}

OperatorPolicy::OperatorPolicy(std::vector<std::string> allowed, Door door)
    : allowed_(std::move(allowed)), door_(door) {
  for (const std::string& pattern : allowed_) {
    const size_t star = pattern.find('*');
    const bool is_name =
        pattern == "*" || pattern.find("::") != std::string::npos || pattern.starts_with("torch.classes.");
    if (!is_name || (star != std::string::npos && star + 1 != pattern.size())) {
      throw UserError(
          "'" + pattern +
          "' names no operator to allow: write namespace::name, namespace::name.overload, namespace::* or "
          "torch.classes.namespace.Name");
    }
  }
}

bool OperatorPolicy::isNamed(string_view name) const {
  return std::any_of(
      allowed_.begin(), allowed_.end(), [&](const std::string& pattern) { return matches(pattern, name); });
}

bool OperatorPolicy::allows(const Operator& op) const {
  return op.restriction() == Restriction::None || isNamed(op.fullName());
}

void OperatorPolicy::checkBlock(Block& block) const {
  for (Node* node : block.nodes()) {
    if (const Operator* op = operatorOf(*node); op && !allows(*op)) {
      const std::string name = node->kind().toQualString();
      throw UserError(
          "This program was loaded as untrusted, and may not call " + op->fullName() + ": " +
              std::string(reasonOf(op->restriction())) + ". If you trust where it comes from, load it with " +
              howToTrust(door_) + ", or allow this operator with " + howToAllow(door_, name) + ".",
          node->sourceRange());
    }
    checkClasses(*node);
    for (Block* inner : node->blocks()) checkBlock(*inner);
    if (node->hasAttribute(attr::Subgraph)) checkBlock(*node->g(attr::Subgraph)->block());
  }
}

/// C++ classes whose objects the node makes, reads or calls.
void OperatorPolicy::checkClasses(const Node& node) const {
  const auto check = [&](const std::string& name) {
    if (name.starts_with(kCppClasses)) checkClass(name, node.sourceRange());
  };
  const auto checkTypeOf = [&](const Value* value) {
    const auto* type = value->type()->castRaw<c10::ClassType>();
    if (type && type->name()) check(type->name()->qualifiedName());
  };
  for (const Value* output : node.outputs()) checkTypeOf(output);
  if (node.kind() == prim::CallMethod) checkTypeOf(node.input(0));
  if (node.kind() == prim::CallFunction) {
    // A static method.
    if (const auto* type = node.input(0)->type()->castRaw<c10::FunctionType>())
      check(type->function()->qualname().prefix());
  }
}

void OperatorPolicy::check(Graph& graph) const {
  checkBlock(*graph.block());
}

void OperatorPolicy::checkClass(string_view qualified_name, const SourceRange& range) const {
  const string_view rest = qualified_name.substr(std::min(kCppClasses.size(), qualified_name.size()));
  qualified_name.remove_prefix(std::min(string_view("__torch__.").size(), qualified_name.size()));
  const string_view space = rest.substr(0, rest.find('.'));
  if (isOneOf(space, kKnownClassNamespaces) || isNamed(qualified_name)) return;
  const char* reason = isOneOf(space, kUncheckedClassNamespaces)
                           ? "it does not check the state that an archive holds of it"
                           : "it is not one of PyTorch's own, so nothing is known of it";
  throw UserError(
      "This program was loaded as untrusted, and may not use the C++ class " + std::string(qualified_name) + ": " +
          reason + ". If you trust where it comes from, load it with " + howToTrust(door_) +
          ", or allow this class with " + howToAllow(door_, qualified_name) + ".",
      range);
}

}  // namespace cresset
