// Compiles one `def` to a graph. Internal to frontend/: compiler.h is the entry.
#pragma once

#include "cresset/frontend/compiler.h"

namespace cresset {

/// Compiles `def` and sets `function`'s graph; sets its schema too if it has none yet (the result's type is then
/// inferred: the common type of all returns). `self_type` types the first parameter of a method. Throws UserError.
///
/// Names are looked up in this order: local variables and parameters; `resolver`; builtinResolver().
void emitFunction(Function& function, const Def& def, const ResolverPtr& resolver, const TypePtr& self_type);

}  // namespace cresset
