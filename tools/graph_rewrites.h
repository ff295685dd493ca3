// Rewrites of graphs that the library has beside its passes, under the names that the tools take for passes.
#pragma once

#include <string_view>
#include <vector>

#include "cresset/passes/pass.h"

/// All passes, then the rewrites.
std::vector<const cresset::PassInfo*> passesAndRewrites();
/// Null if there is none of that name.
const cresset::PassInfo* findPassOrRewrite(std::string_view name);
