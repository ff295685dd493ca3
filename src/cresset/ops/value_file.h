// What `torch.save` of a program calls. The folder archive/, which writes files, is above the operators, so that it
// defines this (save.cpp).
#pragma once

#include <ATen/core/ivalue.h>

#include <string>

namespace cresset {

/// Writes what loadValue and torch.load read. The file appears as a whole or not at all. Throws UserError: for objects
/// of classes, and if the file can't be written.
void saveValue(const c10::IValue& value, const std::string& path);

}  // namespace cresset
