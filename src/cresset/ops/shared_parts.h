// Few values that stand for many: whoever visits `x = [x, x]` forty levels deep as a tree does not end.
#pragma once

#include <ATen/core/ivalue.h>

namespace cresset {

/// As requireShallow (nesting.h), but that the bound on what a traversal would meet holds where no limits do, too: for
/// what an archive brings along, and what is shown of it.
void requireFewElements(const c10::IValue& value, const char* doing);

}  // namespace cresset
