// Checks of the states that archives hold of PyTorch's C++ classes: weights packed for kernels, which the class packs
// anew when it is loaded, by code that believes them (as the operators that pack weights do: argument_checks.h).
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <string_view>

namespace cresset {

/// `class_name`: "__torch__.torch.classes.quantized.LinearPackedParamsBase"; `state`: what its __setstate__ will get.
/// Throws c10::Error for a state that this could end the process with. The bytes that the class will allocate; nothing
/// is known of classes of other libraries.
size_t checkClassState(std::string_view class_name, const c10::IValue& state);

}  // namespace cresset
