// Operators for which a transform of torch.func has a wrong rule, or that autograd refuses to record (column
// REPLACED_BY), and what is called in their place.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace cresset {

/// Takes the operator's arguments from the end of the stack, and leaves the results there. False, and the stack as it
/// was, if the operator is to be called: it is right here, or refuses the arguments.
using CallReplacement = bool (*)(std::vector<c10::IValue>& stack);

/// By full name ("aten::select_scatter"); null for most.
CallReplacement replacementOf(std::string_view full_name);

}  // namespace cresset
