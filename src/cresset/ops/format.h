// Values as text, as TorchScript prints them: what str(), print, format and % write.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <string>

namespace cresset {

/// TorchScript's form, which is not quite Python's: strings inside lists stand without quotes, a whole float ends in a
/// dot ("1."), other floats have 17 digits, a tensor prints as C++'s `operator<<` does.
std::string toPrinted(const c10::IValue& value);

/// Adds a part to a text that grows; asks for the memory before.
void appendPart(std::string& text, const std::string& part);

/// What print(…) of the values writes: separated by spaces, with a line break.
std::string printedLine(std::span<const c10::IValue> values);

/// `format.format(args…)` as in Python: "{}", "{0}", conversions, format specs (fields within them too), "{{" and "}}".
/// A field without conversion and spec is printed by toPrinted. Throws std::runtime_error for what has no meaning.
std::string formatBraces(const std::string& format, std::span<const c10::IValue> args);

/// `format % args`: %s %d %i %f %F %e %E %c and %%.
std::string formatPercent(const std::string& format, std::span<const c10::IValue> args);

/// The digits of `value` in base 2, 8 or 16 after a sign and `prefix`.
std::string inBase(int64_t value, unsigned base, const char* prefix);

}  // namespace cresset
