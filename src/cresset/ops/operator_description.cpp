#include "cresset/ops/operator_description.h"

#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "cresset/ir/schema_text.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/policy.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// A row's name, or a column and what it says; the table as it stands in the files.
struct Cell {
  enum class Kind { Operator, Overloads, Column } kind;
  std::string_view name;  // of the row, or the column
  std::string_view text;
  std::string_view file;
};

constexpr Cell kCells[] = {
#define OPERATOR(name) {Cell::Kind::Operator, name, {}, __FILE__},
#define OVERLOADS(name) {Cell::Kind::Overloads, name, {}, __FILE__},
#define FACTS(rule) {Cell::Kind::Column, "facts", rule},
#define SCALAR(body) {Cell::Kind::Column, "scalar body", body},
#define BROADCASTS(operands) {Cell::Kind::Column, "broadcasts", operands},
#define CONTRACTS(rule) {Cell::Kind::Column, "contracts", rule},
#define READS(rule) {Cell::Kind::Column, "reads", rule},
#define ADDS(rule) {Cell::Kind::Column, "adds", rule},
#define REDUCES(rule) {Cell::Kind::Column, "reduces", rule},
#define OUT(function) {Cell::Kind::Column, "out", #function},
#define NO_OUT(reason) {Cell::Kind::Column, "no out", reason},
#define TAKES_STORAGE() {Cell::Kind::Column, "takes storage", {}},
#define LAID_OUT_AS(operands) {Cell::Kind::Column, "laid out as", operands},
#define COMPUTES_IN(rule) {Cell::Kind::Column, "computes in", rule},
#define GRADIENT(arguments, expression) {Cell::Kind::Column, "gradient", #arguments ": " expression},
#define RESULTS_WITH_GRADIENTS(count) {Cell::Kind::Column, "results with gradients", #count},
#define GRADIENTS_IF(condition) {Cell::Kind::Column, "gradients if", #condition},
#define DECOMPOSITION(condition, expression) \
  {Cell::Kind::Column, "decomposition if", #condition}, {Cell::Kind::Column, "decomposition", expression},
#define DECOMPOSES_FOR_KERNELS(condition, expression)               \
  {Cell::Kind::Column, "decomposition for kernels if", #condition}, \
      {Cell::Kind::Column, "decomposition for kernels", expression},
#define UPDATES(arguments, condition, functional)                                            \
  {Cell::Kind::Column, "updates", arguments}, {Cell::Kind::Column, "updates if", condition}, \
      {Cell::Kind::Column, "updated by", functional},
#define READS_MEMORY(arguments) {Cell::Kind::Column, "reads memory", arguments},
#define SAME_AS(name) {Cell::Kind::Column, "same as", name},
#define AUTOCAST(cpu, cuda) {Cell::Kind::Column, "autocast (CPU, CUDA)", #cpu ", " #cuda},
#define RESTRICTED(restriction) {Cell::Kind::Column, "restricted", #restriction},
#define CALLED_BY_PROGRAMS() {Cell::Kind::Column, "called by programs", {}},
#define SHARES_IF_EMPTY() {Cell::Kind::Column, "shares if empty", {}},
#define ARGUMENT_CHECK(...) {Cell::Kind::Column, "argument check", #__VA_ARGS__},
#define REPLACED_BY(function) {Cell::Kind::Column, "replaced-by", #function},
#define ONLY_BY_OVERLOAD() {Cell::Kind::Column, "only by overload", {}},
#define OVERLOAD_ORDER(order) {Cell::Kind::Column, "overload order", order},
#define NEVER_RAISES_IF(condition) {Cell::Kind::Column, "never raises if", #condition},
#define CONVOLUTION(dimensions) {Cell::Kind::Column, "convolution", #dimensions},
#define ENTRY(use) {Cell::Kind::Column, "entry", #use},
#define BASIC(operation) {Cell::Kind::Column, "basic", #operation},
#define CONVERTS(types) {Cell::Kind::Column, "converts", types},
#define CODE(text) {Cell::Kind::Column, "code", text},
#define TRACED_SIZES(use) {Cell::Kind::Column, "traced sizes", #use},
#define NUMBERS_IN_TENSORS() {Cell::Kind::Column, "numbers in tensors", {}},
#define PIECES(rule) {Cell::Kind::Column, "pieces", #rule},
#define TRACED_AS(what) {Cell::Kind::Column, "traced as", #what},
#define VIEW(inverse) {Cell::Kind::Column, "inverse of view", inverse},
#define STRIDED(function) {Cell::Kind::Column, "strided view", #function},
#define GIVEN_STRIDES() {Cell::Kind::Column, "given strides", {}},
#define OVERLAP(rule) {Cell::Kind::Column, "overlap", #rule},
#define NOT_REVERSED(reason) {Cell::Kind::Column, "not reversed", reason},
#define COPY(expression) {Cell::Kind::Column, "copy of view", expression},
#define TRAIT(trait) {Cell::Kind::Column, "trait", #trait},
#include "cresset/ops/table/table.def"
};

struct Described {
  std::string_view name;
  bool all_overloads = false;
  std::vector<std::pair<std::string_view, std::string_view>> columns;
};

using Sections = std::vector<std::pair<std::string, std::vector<Described>>>;

/// "pointwise" of "…/ops/table/pointwise.def".
std::string themeOf(std::string_view file) {
  file.remove_prefix(file.find_last_of('/') + 1);
  return std::string(file.substr(0, file.find('.')));
}

const Sections& sections() {
  static const auto* all = [] {
    auto* found = new Sections;
    for (const Cell& cell : kCells) {
      if (cell.kind == Cell::Kind::Column) {
        const bool is_trivial = (cell.name == "decomposition if" && cell.text == "true") ||
                                (cell.name.starts_with("update") && cell.text.empty());
        if (!is_trivial) found->back().second.back().columns.emplace_back(cell.name, cell.text);
        continue;
      }
      const std::string theme = themeOf(cell.file);
      if (found->empty() || found->back().first != theme) found->push_back({theme, {}});
      found->back().second.push_back({cell.name, cell.kind == Cell::Kind::Overloads, {}});
    }
    return found;
  }();
  return *all;
}

/// What a column says, on one line. Rules are written over several in the table.
std::string oneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (is_space && (line.empty() || line.back() == ' ')) continue;
    line += is_space ? ' ' : c;
  }
  return line;
}

void printColumns(std::ostream& out, std::string_view name, bool all_overloads) {
  for (const auto& [theme, rows] : sections()) {
    for (const Described& row : rows) {
      if (row.name != name || row.all_overloads != all_overloads) continue;
      for (const auto& [column, text] : row.columns) out << "  " << column << ": " << oneLine(text) << "\n";
    }
  }
}

/// What holds without a row, by the schema and PyTorch's tags.
void printDerived(std::ostream& out, const Operator& op) {
  const std::pair<bool, std::string_view> answers[] = {
      {!op.isOfDispatcher(), "an operator of Cresset's own"},
      {op.isPointwise(), "pointwise"},
      {op.isPure(), "pure"},
      {op.isMutable(), "writes to an argument"},
      {op.hasSideEffects(), "has side effects"},
      {!op.isDeterministic(), "nondeterministic"},
  };
  for (const auto& [holds, text] : answers) {
    if (holds) out << "  " << text << "\n";
  }
  if (op.restriction() != Restriction::None) out << "  untrusted programs: " << reasonOf(op.restriction()) << "\n";
  if (const Operator* reuse = op.inPlaceReuse()) out << "  in-place reuse: " << reuse->fullName() << "\n";
}

/// Cells of Markdown tables end at `|`.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string describeOperators(std::string_view name) {
  std::vector<const Operator*> operators;
  const bool is_overload = name.find('.') != std::string_view::npos;
  if (is_overload) {
    if (const Operator* op = OperatorTable::get().find(name)) operators.push_back(op);
  } else if (name.find("::") != std::string_view::npos) {
    const auto overloads = OperatorTable::get().overloads(c10::Symbol::fromQualString(std::string(name)));
    operators.assign(overloads.begin(), overloads.end());
  }
  if (operators.empty()) {
    throw UserError(
        "there is no operator '" + std::string(name) + "': write namespace::name, or namespace::name.overload");
  }
  std::ostringstream out;
  for (const Operator* op : operators) {
    out << schemaText(op->schema()) << "\n";
    printColumns(out, op->fullName(), false);
    printDerived(out, *op);
  }
  std::ostringstream shared;
  printColumns(shared, operators.front()->schema().name(), true);
  if (!shared.str().empty()) out << operators.front()->schema().name() << ", all overloads\n" << shared.str();
  return out.str();
}

std::string operatorsAsMarkdown() {
  std::map<std::string, std::vector<const Described*>> themes;
  for (const auto& [theme, rows] : sections()) {
    for (const Described& row : rows) themes[theme].push_back(&row);
  }
  std::ostringstream out;
  for (const auto& [theme, rows] : themes) {
    out << "\n## " << theme << "\n\n| operator | column | |\n|---|---|---|\n";
    for (const Described* row : rows) {
      std::string name = std::string(row->name) + (row->all_overloads ? ", all overloads" : "");
      for (const auto& [column, text] : row->columns) {  // a line each: one cell of them all is too long to read
        out << "| " << std::exchange(name, "") << " | ";
        if (column == "trait") {
          out << text << " | |\n";
        } else {
          out << column << (text.empty() ? " | |" : " | `" + escaped(oneLine(text)) + "` |") << "\n";
        }
      }
    }
  }
  return out.str();
}

std::vector<std::string> tableErrors() {
  std::vector<std::string> errors;
  std::set<std::pair<std::string_view, bool>> seen;
  for (const auto& [theme, rows] : sections()) {
    for (const Described& row : rows) {
      const std::string name(row.name);
      const bool exists = row.all_overloads ? !OperatorTable::get().overloads(c10::Symbol::fromQualString(name)).empty()
                                            : OperatorTable::get().find(name) != nullptr;
      if (!exists) errors.push_back(name + ": no such operator");
      if (!seen.emplace(row.name, row.all_overloads).second) errors.push_back(name + ": two rows");
      std::set<std::string> columns;
      for (const auto& [column, text] : row.columns) {
        // A row may have any number of these: a gradient per argument, decompositions in the order of their conditions.
        const bool is_list = column == "gradient" || column == "trait" || column.starts_with("decomposition");
        const std::string_view key = column == "gradient" ? text.substr(0, text.find(':')) : text;
        if (!columns.insert(std::string(column) + (is_list ? ": " + std::string(key) : "")).second)
          errors.push_back(name + ": the column '" + std::string(column) + "' twice");
        const bool is_shared = column == "restricted" || column == "called by programs" || column == "overload order" ||
                               column == "entry" || column == "same as" || column == "converts" || column == "code" ||
                               column == "traced sizes" || column == "numbers in tensors";
        if (row.all_overloads && !is_shared)
          errors.push_back(name + ": '" + std::string(column) + "' is no column of OVERLOADS");
      }
    }
  }
  for (std::string& error : formErrors()) errors.push_back(std::move(error));
  return errors;
}

}  // namespace cresset
