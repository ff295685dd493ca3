// Numbers and constant values as IR text writes them.
#pragma once

#include <ATen/core/ivalue.h>

#include <complex>
#include <string>
#include <variant>

#include "cresset/ir/parser.h"
#include "cresset/ir/scanner.h"

namespace cresset {

/// As TorchScript writes floats: 1., 0.10000000000000001, 1e+20, -0., inf, nan.
std::string floatToText(double v);
/// 2.+3.j
std::string complexToText(std::complex<double> v);

using NumberLiteral = std::variant<int64_t, double, std::complex<double>>;
/// Whether a number begins here (inf and nan are numbers).
bool atNumber(const IrScanner& scanner);
NumberLiteral parseNumber(IrScanner& scanner);

/// Appends the text of `value`, a constant of type `type`. False, with `out` in any state, if text and type could not
/// give the value back; it then belongs in a ConstantTable.
bool printConstantText(std::string& out, const c10::IValue& value, const c10::TypePtr& type, int depth = 0);
/// Reads what printConstantText wrote, or CONSTANTS.cN. The type says what the text means.
c10::IValue parseConstantText(
    IrScanner& scanner, const c10::TypePtr& type, const ConstantTable* constants, int depth = 0);
/// CONSTANTS.cN, at which the scanner stands.
const c10::IValue& parseTableReference(IrScanner& scanner, const ConstantTable* constants);
bool atTableReference(const IrScanner& scanner);

}  // namespace cresset
