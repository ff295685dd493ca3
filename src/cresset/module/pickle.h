// Values as bytes, in the form of torch.save: tensors, numbers, strings, and tuples, lists and dicts of them.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

namespace cresset {

/// The bytes of a file that pickle_load, torch::pickle_load and torch.load(weights_only=False) read. Throws UserError
/// for objects of classes: save a module that has them.
std::vector<char> pickle_save(const c10::IValue& value);

/// The value in the bytes that pickle_save, torch::pickle_save or torch.save wrote. Classes are an error, and nothing
/// is executed. Lists and dicts that Python wrote say no types: they come as List[Any] and Dict. Throws ArchiveError.
c10::IValue pickle_load(const std::vector<char>& data);

}  // namespace cresset
