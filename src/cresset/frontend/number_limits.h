// torch.finfo and torch.iinfo.
#pragma once

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// torch.finfo (`floating`) or torch.iinfo. What it returns is no value of its own: each field is a constant if the
/// dtype is known, and otherwise a call of a function that looks the dtype up.
SugaredValuePtr limitsFunction(bool floating);

}  // namespace cresset
