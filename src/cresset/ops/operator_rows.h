// The rows of the operator table (ops/table/table.def), as ops and analysis read them. The columns of derivatives are
// read by autodiff/derivatives.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cresset/ops/operator.h"

namespace cresset {

struct OperatorRow {
  std::string_view name;         // "aten::add.Tensor"
  std::string_view facts;        // of the results (analysis/fact_rule.h); empty if nothing is known of them
  std::string_view scalar;       // what it does to elements (codegen/scalar_body.h); empty if there is no such thing
  std::string_view computes_in;  // in which dtype; empty if in its result's
  std::string_view reduces;      // along which dimensions, and whether they are kept; empty if it does not reduce
  std::string_view laid_out_as;  // its operands as at::TensorIterator takes them; empty if that is their order
  std::string_view contracts;    // which dimensions of its operands go together, of a product (Contraction); or empty
  std::string_view broadcasts;   // which dimensions of its operands go together (Broadcast); empty if the last do
  std::string_view reads;        // how it reads by index (codegen/index_rule.h); empty if it does not
  std::string_view adds;         // how it adds by index; empty if it does not
  Trait traits = Trait::None;
  Restriction restriction = Restriction::None;
  bool called_by_programs = false;  // though its name is one of PyTorch's internal kernels
  bool shares_if_empty = false;     // its arguments' memory, though not otherwise
  std::optional<int> convolution;   // in how many dimensions; 0 if the weight tells
  Autocast autocast_cpu = Autocast::Unknown, autocast_cuda = Autocast::Unknown;
};

/// "Lower", as in the table.
std::string_view nameOf(Autocast policy);

/// Of all operators that have one, in the order of the files.
std::span<const OperatorRow> operatorRows();
/// Null if the operator has none.
const OperatorRow* findOperatorRow(std::string_view full_name);
/// The arguments, in the order in which they decide the layout of the result (column LAID_OUT_AS).
std::vector<size_t> layoutOrder(const Operator& op);
/// The row for all overloads of a name ("aten::split"); null if there is none.
const OperatorRow* findOverloadsRow(std::string_view name);

/// Columns whose values one file alone knows, functions for example: that file expands the table to a sequence of
/// cells, those that name an operator and those of the column, and asks for them by operator.
///
///   constexpr ColumnCell<Check> kCells[] = {
///   #define OPERATOR(name) {name, {}},
///   #define ARGUMENT_CHECK(...) {{}, __VA_ARGS__},
///   #include "cresset/ops/table/table.def"
///   };
template <class T>
struct ColumnCell {
  std::string_view name;
  T value;
};

template <class T, size_t N>
std::unordered_map<std::string_view, T> byOperator(const ColumnCell<T> (&cells)[N]) {
  std::unordered_map<std::string_view, T> values;
  std::string_view name;
  for (const ColumnCell<T>& cell : cells) {
    if (cell.name.empty()) {
      values.emplace(name, cell.value);
    } else {
      name = cell.name;
    }
  }
  return values;
}

}  // namespace cresset
