// Blocks that a program leaves to Python: `with torch.jit._IgnoreContextManager(a="inp:int", b="out:int"):`.
#pragma once

namespace cresset {

/// What the parser calls in their place: with the block's text, then the inputs, then the keywords.
inline constexpr const char* kIgnoredBlock = "torch.jit._IgnoreContextManager";

}  // namespace cresset
