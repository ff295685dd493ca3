// Functions and classes that Python's torch defines in Python: here in TorchScript. Internal to frontend/.
#pragma once

#include <string>
#include <string_view>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// The function or class of this Python name ("torch.nn.functional.relu"), defined in the program on first use; null if
/// the prelude has none.
SugaredValuePtr preludeMember(const std::string& full_name, const SourceRange& range, EmitContext& cx);

/// The body of the class of this qualified name as archives hold it, if the prelude's own text has operators that
/// torch.jit lacks: autocast and inference mode. Else empty.
std::string_view portableClass(const c10::QualifiedName& name);
/// The prelude's class that an archive means by a class of this qualified name, whose own text is for torch.jit; null
/// if the archive's text counts.
c10::TypePtr classOfPortable(const c10::QualifiedName& name, Program& program);

/// Whether the prelude has it.
bool isPreludeMember(const std::string& full_name);

}  // namespace cresset
