// Functions and classes that Python's torch defines in Python: here in TorchScript. Internal to frontend/.
#pragma once

#include <string>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// The function or class of this Python name ("torch.nn.functional.relu"), defined in the program on first use; null if
/// the prelude has none.
SugaredValuePtr preludeMember(const std::string& full_name, const SourceRange& range, EmitContext& cx);

/// Whether the prelude has it.
bool isPreludeMember(const std::string& full_name);

}  // namespace cresset
