// See class_printer.h.
//
// The form is what torch.jit reads: a class line, the names of parameters and buffers, a line for each attribute with
// its type, constants as Final, then methods. Attributes stand in the order of their slots.
#include "cresset/archive/class_printer.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <set>

#include "cresset/frontend/prelude.h"
#include "cresset/program/class_methods.h"
#include "cresset/support/error.h"
#include "cresset/support/string_literal.h"

namespace cresset {

namespace {

class DefinitionPrinter {
 public:
  DefinitionPrinter(CodeText& out, const std::string& name, const CodeOptions& options)
      : out_(out), name_(name), options_(options), names_(options.names ? *options.names : default_names_) {}

  void printTuple(const c10::TupleType& type) {
    out_ << "class " << name_ << "(NamedTuple):\n";
    if (type.schema()->arguments().empty()) out_ << "  pass\n";
    for (const c10::Argument& field : type.schema()->arguments()) {
      if (!isCodeIdentifier(field.name())) {
        throw UserError(
            "The named tuple '" + type.name()->qualifiedName() + "' can't be saved: its field '" + field.name() +
            "' has no name that code may use.");
      }
      // No defaults: code gives all fields, and torch.jit can't read them.
      out_ << "  " << field.name() << " : " << names_.annotation(field.type()) << "\n";
    }
  }

  void printEnum(const c10::EnumType& type) {
    out_ << "class " << name_ << "(Enum):\n";
    CodeOptions literals = options_;
    literals.constants = nullptr;
    for (const auto& [member, value] : type.enumNamesValues())
      out_ << "  " << member << " = " << printConstant(value, literals) << "\n";
  }

  void printInterface(const c10::InterfaceType& type) {
    out_ << "class " << name_ << (type.is_module() ? "(ModuleInterface):\n" : "(Interface):\n");
    if (type.methods().empty()) out_ << "  pass\n";
    for (const c10::FunctionSchema& method : type.methods()) {
      out_ << "  def " << method.name() << "(self";
      for (size_t i = 1; i < method.arguments().size(); ++i) {
        const c10::Argument& argument = method.arguments()[i];
        out_ << ", " << argument.name() << ": " << names_.annotation(argument.type());
      }
      out_ << ") -> " << names_.annotation(method.returns().at(0).type()) << ":\n    pass\n";
    }
  }

  void printClass(const c10::ClassType& type) {
    out_ << "class " << name_ << (type.is_module() ? "(Module):\n" : ":\n");
    const size_t start = out_.size();
    if (type.is_module()) printModuleNames(type);
    printAttributes(type);
    for (size_t i = 0; i < type.numConstants(); ++i) printClassConstant(type, i);
    std::set<std::string> printed;
    auto print = [&](torch::jit::Function* function) {
      if (printed.insert(function->name()).second) printMethod(type, function);
    };
    for (torch::jit::Function* method : methodsOf(type)) print(method);
    for (torch::jit::Function* hook : type.getForwardHooks()) print(hook);
    for (torch::jit::Function* hook : type.getForwardPreHooks()) print(hook);
    if (out_.size() == start) out_ << "  pass\n";
  }

 private:
  template <typename Names>
  void printStrings(const char* name, const Names& strings) {
    out_ << "  " << name << " = [";
    for (const std::string& string : strings) out_ << quoteString(string) << ", ";
    out_ << "]\n";
  }

  void printModuleNames(const c10::ClassType& type) {
    std::vector<std::string> parameters, buffers;
    for (size_t i = 0; i < type.numAttributes(); ++i) {
      if (type.is_parameter(i)) parameters.push_back(type.getAttributeName(i));
      if (type.is_buffer(i)) buffers.push_back(type.getAttributeName(i));
    }
    printStrings("__parameters__", parameters);
    printStrings("__buffers__", buffers);
    auto namesOf = [](const std::vector<torch::jit::Function*>& functions) {
      std::vector<std::string> names;
      for (torch::jit::Function* function : functions) names.push_back(function->name());
      return names;
    };
    if (!type.getForwardPreHooks().empty()) printStrings("__forward_pre_hooks__", namesOf(type.getForwardPreHooks()));
    if (!type.getForwardHooks().empty()) printStrings("__forward_hooks__", namesOf(type.getForwardHooks()));
  }

  void printAttributes(const c10::ClassType& type) {
    bool announced = false;
    for (size_t i = 0; i < type.numAttributes(); ++i) {
      const std::string& name = type.getAttributeName(i);
      const std::string annotation = names_.annotation(type.getAttribute(i));
      if (isCodeIdentifier(name)) {
        out_ << "  " << name << " : " << annotation << "\n";
        continue;
      }
      if (!announced) out_ << "  __annotations__ = []\n";
      announced = true;
      out_ << "  __annotations__[" << quoteString(name) << "] = " << annotation << "\n";
    }
  }

  void printClassConstant(const c10::ClassType& type, size_t i) {
    const std::string& name = type.getConstantName(i);
    // Marks of the compiler's own are no part of the program.
    if (name.starts_with("__cresset")) return;
    const c10::IValue value = type.getConstant(i);
    if (!isCodeIdentifier(name)) {
      throw UserError(
          "The constant '" + name + "' of class '" + type.name()->qualifiedName() +
          "' can't be saved: code can't define a constant of this name.");
    }
    out_ << "  " << name << " : Final[" << names_.annotation(value.type()) << "] = " << printConstant(value, options_)
         << "\n";
  }

  void printMethod(const c10::ClassType& type, torch::jit::Function* function) {
    auto* ours = dynamic_cast<Function*>(function);
    if (!ours) {
      throw UserError(
          "The method '" + function->name() + "' of class '" + type.name()->qualifiedName() +
          "' can't be saved: it is not a script function.");
    }
    printCode(out_, *ours, function->name(), 1, options_);
  }

  CodeText& out_;
  const std::string& name_;
  const CodeOptions& options_;
  CodeNames default_names_;
  CodeNames& names_;
};

}  // namespace

void printDefinition(
    CodeText& out, const c10::NamedTypePtr& type, const std::string& name, const CodeOptions& options) {
  DefinitionPrinter printer(out, name, options);
  if (auto tuple = type->cast<c10::TupleType>()) return printer.printTuple(*tuple);
  if (auto enumeration = type->cast<c10::EnumType>()) return printer.printEnum(*enumeration);
  if (auto interface = type->cast<c10::InterfaceType>()) return printer.printInterface(*interface);
  if (auto cls = type->cast<c10::ClassType>()) {
    const std::string_view portable = portableClass(*cls->name());
    if (portable.empty()) return printer.printClass(*cls);
    out << "class " << name << ":\n" << portable;
    return;
  }
  throw UserError("The type '" + type->repr_str() + "' can't be saved.");
}

}  // namespace cresset
