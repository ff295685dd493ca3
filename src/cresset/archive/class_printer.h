// Classes, interfaces, enums and named tuples as archives write them.
#pragma once

#include <ATen/core/jit_type.h>

#include "cresset/archive/code_printer.h"

namespace cresset {

/// The definition of `type`, which is called `name` there. Throws UserError if something in it has no source.
void printDefinition(CodeText& out, const c10::NamedTypePtr& type, const std::string& name, const CodeOptions& options);

}  // namespace cresset
