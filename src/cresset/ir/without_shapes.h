#pragma once

#include <ATen/core/jit_type.h>

namespace cresset {

/// The type without what is known of its tensors, as schemas have it. Unlike c10::unshapedType it leaves classes as
/// they are, which may hold themselves.
c10::TypePtr withoutShapes(const c10::TypePtr& type);

}  // namespace cresset
