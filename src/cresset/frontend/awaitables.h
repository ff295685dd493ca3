// Awaitables in programs: what torch.jit._awaitable_wait becomes.
#pragma once

#include <optional>
#include <vector>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// prim::awaitable_wait, whose row takes anything, since it may do anything: the result has the type that the Await
/// says.
Value* insertAwaitableWait(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self);

}  // namespace cresset
