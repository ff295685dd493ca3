// Values as exact, compact text: what text tests compare.
#pragma once

#include <string>

namespace c10 {
struct IValue;
}

namespace cresset::tools {

/// As Python's repr writes values; tensors as nested lists with every element exact:
/// `tensor([1.0, 2.5])`, `tensor([[1, 2]], dtype=int64)`, `tensor([], size=(0, 3))`, `tensor(1.0, requires_grad=True)`.
/// Objects print as `<Name>`.
std::string reprOf(const c10::IValue& value);

/// The shortest decimal that reads back to the same number, as Python writes it: "1.0", "1e-05", "inf".
std::string reprOf(double value);

}  // namespace cresset::tools
