// Module::dump_to_str: a module for people.
#include <ATen/core/class_type.h>

#include <iostream>
#include <sstream>
#include <unordered_map>

#include "cresset/ir/printer.h"
#include "cresset/module/module.h"
#include "cresset/ops/format.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/object_slots.h"

namespace cresset {

namespace {

void appendValue(std::ostringstream& out, const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) {
      out << "undefined Tensor";
      return;
    }
    out << c10::toString(tensor.scalar_type()) << tensor.sizes() << " on " << tensor.device();
    return;
  }
  if (value.isObject()) {
    out << "<" << value.toObject()->type()->annotation_str() << ">";
    return;
  }
  requireFewElements(value, "printing a value");
  out << toPrinted(value);
}

/// A module that several names mean is shown at the first; `shown` has the names.
void dumpInto(
    std::ostringstream& out, const Module& module, bool code, bool attributes, bool parameters,
    const std::string& indent, const std::string& name,
    std::unordered_map<const c10::ivalue::Object*, std::string>& shown) {
  auto type = module.type();
  const auto [first, is_new] = shown.try_emplace(module._ivalue().get(), name);
  if (!is_new) {
    out << indent << "module " << type->name()->qualifiedName() << ", the same as "
        << (first->second.empty() ? "the outermost one" : first->second) << "\n";
    return;
  }
  out << indent << "module " << type->name()->qualifiedName() << " {\n";
  const std::string inner = indent + "  ";
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    bool is_parameter = type->is_parameter(slot);
    if (is_parameter ? !parameters : !attributes) continue;
    IValue value = readSlot(*module._ivalue(), slot);
    if (value.isObject() && value.toObject()->type()->is_module()) continue;
    out << inner
        << (is_parameter            ? "parameter "
            : type->is_buffer(slot) ? "buffer "
                                    : "attribute ")
        << type->getAttributeName(slot) << " : " << type->getAttribute(slot)->annotation_str() << " = ";
    appendValue(out, value);
    out << "\n";
  }
  if (code) {
    for (const Method& method : module.get_methods()) {
      out << inner << "method " << method.name() << " {\n";
      std::istringstream lines(toString(*method.graph(), PrintOptions{.source_ranges = false}));
      for (std::string line; std::getline(lines, line);) out << inner << "  " << line << "\n";
      out << inner << "}\n";
    }
  }
  for (const auto& child : module.named_children()) {
    out << inner << "submodule " << child.name << "\n";
    dumpInto(
        out, child.value, code, attributes, parameters, inner + "  ", name + (name.empty() ? "" : ".") + child.name,
        shown);
  }
  out << indent << "}\n";
}

}  // namespace

std::string Module::dump_to_str(bool code, bool attributes, bool parameters) const {
  std::ostringstream out;
  std::unordered_map<const c10::ivalue::Object*, std::string> shown;
  dumpInto(out, *this, code, attributes, parameters, "", "", shown);
  return out.str();
}

void Module::dump(bool code, bool attributes, bool parameters) const {
  std::cout << dump_to_str(code, attributes, parameters) << '\n' << std::flush;
}

}  // namespace cresset
