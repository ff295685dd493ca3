// Operators for which a transform of torch.func has a wrong rule (column TRANSFORMED), and what is called in their
// place while one is active.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace cresset {

/// Takes the operator's arguments from the end of the stack, and leaves the results there. False, and the stack as it
/// was, if the operator is to be called: no transform is active, or the arguments are ones that it refuses.
using TransformedCall = bool (*)(std::vector<c10::IValue>& stack);

/// By full name ("aten::select_scatter"); null for most.
TransformedCall transformedCallOf(std::string_view full_name);

}  // namespace cresset
