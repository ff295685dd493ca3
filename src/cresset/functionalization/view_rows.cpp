#include "cresset/functionalization/view_rows.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "cresset/frontend/compiler.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

struct ViewColumn {
  enum class Kind { Operator, Inverse, Reason, Copy } kind;
  std::string_view text;
};

constexpr ViewColumn kViewColumns[] = {
#define OPERATOR(name) {ViewColumn::Kind::Operator, name},
#define VIEW(inverse) {ViewColumn::Kind::Inverse, inverse},
#define NOT_REVERSED(reason) {ViewColumn::Kind::Reason, reason},
#define COPY(expression) {ViewColumn::Kind::Copy, expression},
#include "cresset/ops/table/table.def"
};

constexpr ColumnCell<bool> kGivenStrides[] = {
#define OPERATOR(name) {name, {}},
#define GIVEN_STRIDES() {{}, true},
#include "cresset/ops/table/table.def"
};

/// What several rules call.
constexpr std::string_view kHelpers = R"rules(
def inverse(dims: List[int]) -> List[int]:
  result = [0 for d in dims]
  for i, d in enumerate(dims):
    result[d] = i
  return result

def total(numbers: List[int]) -> int:
  result = 0
  for n in numbers:
    result += n
  return result

# A piece along a dimension.
def with_piece(base: Tensor, view: Tensor, dim: int, start: int) -> Tensor:
  return torch.slice_scatter(base, view, dim, start, start + view.size(dim), 1)

def with_slice(base: Tensor, view: Tensor, dim: int, indices: List[int], index: int) -> Tensor:
  start = 0 if index == 0 else indices[index - 1]
  if index == len(indices):
    return torch.slice_scatter(base, view, dim, start, None, 1)
  return torch.slice_scatter(base, view, dim, start, indices[index], 1)

def section_start(length: int, sections: int, index: int) -> int:
  return index * (length // sections) + min(index, length % sections)

def horizontal(x: Tensor) -> int:
  return 0 if x.dim() == 1 else 1

# The real or imaginary part of complex numbers; of real ones, `real` is the tensor itself.
def with_part(base: Tensor, view: Tensor, part: int) -> Tensor:
  if not base.is_complex():
    return view
  parts = torch.view_as_real(base.resolve_conj().resolve_neg())
  return torch.view_as_complex(torch.select_scatter(parts, view, -1, part))

# Copies.
def conjugated(x: Tensor) -> Tensor:
  return torch.conj_physical(x) if x.is_complex() else x

def as_complex(x: Tensor) -> Tensor:
  # PyTorch's copy has no derivative; it says what is wrong with the sizes.
  if x.dim() == 0 or x.size(-1) != 2:
    return torch.view_as_complex_copy(x)
  return torch.complex(torch.select_copy(x, -1, 0), torch.select_copy(x, -1, 1))

def with_last_swapped(x: Tensor, name: str) -> Tensor:
  if x.dim() < 2:
    raise RuntimeError("tensor." + name + " is only supported on matrices or batches of matrices. Got " + str(x.dim()) +
                       "-D tensor.")
  return torch.transpose_copy(x, -2, -1)

def backwards(rank: int) -> List[int]:
  result: List[int] = []
  for i in range(rank):
    result.append(rank - 1 - i)
  return result

def chunks_of(x: Tensor, chunks: int, dim: int) -> List[Tensor]:
  if chunks <= 0:
    raise RuntimeError("chunk expects `chunks` to be greater than 0, got: " + str(chunks))
  length = x.size(dim)
  if length > 0:
    return torch.ops.aten.split_copy.Tensor(x, (length + chunks - 1) // chunks, dim)
  sizes: List[int] = []
  for i in range(chunks):
    sizes.append(0)
  return torch.split_with_sizes_copy(x, sizes, dim)

def sections_of(x: Tensor, sections: int, dim: int) -> List[Tensor]:
  if sections <= 0:
    raise RuntimeError("number of sections must be larger than 0, got " + str(sections))
  length = x.size(dim)
  result: List[Tensor] = []
  for i in range(sections):
    result.append(torch.slice_copy(x, dim, section_start(length, sections, i), section_start(length, sections, i + 1)))
  return result

def equal_sections_of(x: Tensor, sections: int, dim: int, name: str) -> List[Tensor]:
  if x.size(dim) % sections != 0:
    raise RuntimeError("torch." + name + " attempted to split along dimension " + str(dim) +
                       ", but the size of the dimension " + str(x.size(dim)) + " is not divisible by the split_size " +
                       str(sections) + "!")
  return sections_of(x, sections, dim)

def pieces_of(x: Tensor, indices: List[int], dim: int) -> List[Tensor]:
  result: List[Tensor] = []
  start = 0
  for end in indices:
    result.append(torch.slice_copy(x, dim, start, end))
    start = end
  result.append(torch.slice_copy(x, dim, start, x.size(dim)))
  return result

def pieces_by_tensor(x: Tensor, cuts: Tensor, dim: int) -> List[Tensor]:
  if cuts.dim() == 0:
    return sections_of(x, int(cuts), dim)
  indices: List[int] = cuts.tolist()
  return pieces_of(x, indices, dim)
)rules";

class ViewBook {
 public:
  static ViewBook& get() {
    static auto* book = new ViewBook;
    return *book;
  }

  std::string_view inverse(const Operator& op) const { return find(inverses_, op); }
  std::string_view reason(const Operator& op) const { return find(reasons_, op); }
  std::string_view copy(const Operator& op) const { return find(copies_, op); }
  const std::unordered_map<std::string_view, std::string_view>& inverses() const { return inverses_; }
  const std::unordered_map<std::string_view, std::string_view>& copies() const { return copies_; }

  const Graph& compiledInverse(const Operator& op) {
    const std::string view = isViewsInList(op) ? "view: Tensor, index: int" : "view: Tensor";
    return compiled(op, compiled_inverses_, "inverse", view, "Tensor", inverse(op));
  }
  const Graph& compiledCopy(const Operator& op) {
    return compiled(op, compiled_copies_, "copy", {}, isViewsInList(op) ? "List[Tensor]" : "Tensor", copy(op));
  }

 private:
  using Rules = std::unordered_map<std::string_view, std::string_view>;
  using Compiled = std::map<std::string, std::shared_ptr<const Graph>>;

  /// The rule as a function of the operator's arguments and of `more`.
  const Graph& compiled(
      const Operator& op, Compiled& known, const std::string& what, const std::string& more, const std::string& result,
      std::string_view rule) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Graph>& graph = known[op.fullName()];
    if (graph) return *graph;
    if (!program_) {
      program_ = Program::make();
      declareSource(*program_, std::make_shared<const Source>(std::string(kHelpers), "<inverses of views>"), {});
    }
    std::string text = "def " + what + std::to_string(known.size()) + "(";
    for (const c10::Argument& argument : op.schema().arguments())
      text += argument.name() + ": " + argument.type()->annotation_str() + ", ";
    text += more + ") -> " + result + ":\n  return " + std::string(rule) + "\n";
    try {
      const auto functions =
          defineSource(*program_, std::make_shared<const Source>(text, "<" + what + " of " + op.fullName() + ">"), {});
      auto copy = functions.at(0)->graph()->copy();
      inlineRule(*copy, op.fullName());
      graph = std::move(copy);
    } catch (const std::exception& error) {
      throw InternalError("the " + what + " of " + op.fullName() + " does not compile: " + error.what());
    }
    return *graph;
  }

  ViewBook() {
    std::string_view op;
    for (const ViewColumn& column : kViewColumns) {
      switch (column.kind) {
        case ViewColumn::Kind::Operator:
          op = column.text;
          break;
        case ViewColumn::Kind::Inverse:
          inverses_[op] = column.text;
          break;
        case ViewColumn::Kind::Reason:
          reasons_[op] = column.text;
          break;
        case ViewColumn::Kind::Copy:
          copies_[op] = column.text;
          break;
      }
    }
  }

  static std::string_view find(const Rules& column, const Operator& op) {
    const auto found = column.find(op.fullName());
    return found == column.end() ? std::string_view() : found->second;
  }

  Rules inverses_, reasons_, copies_;
  std::mutex mutex_;
  std::shared_ptr<Program> program_;
  Compiled compiled_inverses_, compiled_copies_;
};

}  // namespace

bool isReversibleView(const Operator& op) {
  return !ViewBook::get().inverse(op).empty();
}

bool isViewsInList(const Operator& op) {
  const auto& returns = op.schema().returns();
  return returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType;
}

std::string_view whyNotReversed(const Operator& op) {
  return ViewBook::get().reason(op);
}

bool isGivenStrides(const c10::FunctionSchema& schema) {
  static const auto* names = [] {
    auto* found = new std::unordered_set<c10::OperatorName>;
    for (const auto& [name, cell] : byOperator(kGivenStrides))
      if (const Operator* op = OperatorTable::get().find(name)) found->insert(op->schema().operator_name());
    return found;
  }();
  return names->contains(schema.operator_name());
}

const Graph& inverseOf(const Operator& view) {
  CRESSET_CHECK(isReversibleView(view), "an inverse is asked of a view that has one: " + view.fullName());
  return ViewBook::get().compiledInverse(view);
}

bool mayReturnView(const Operator& op) {
  const auto& schema = op.schema();
  if (schema.arguments().empty() || schema.arguments()[0].type()->kind() != c10::TypeKind::TensorType) return false;
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
    return result.alias_info() && !result.alias_info()->isWrite();
  });
}

const Graph* copyRuleOf(const Operator& view) {
  return ViewBook::get().copy(view).empty() ? nullptr : &ViewBook::get().compiledCopy(view);
}

std::vector<std::string> viewErrors() {
  std::vector<std::string> errors;
  for (const auto& [name, inverse] : ViewBook::get().inverses()) {
    const Operator* op = OperatorTable::get().find(name);
    if (!op) continue;  // tableErrors() says so
    try {
      inverseOf(*op);
    } catch (const std::exception& error) {
      errors.emplace_back(error.what());
    }
    if (!whyNotReversed(*op).empty()) errors.push_back(std::string(name) + ": VIEW and NOT_REVERSED");
  }
  for (const auto& [name, copy] : ViewBook::get().copies()) {
    const Operator* op = OperatorTable::get().find(name);
    if (!op) continue;
    try {
      copyRuleOf(*op);
    } catch (const std::exception& error) {
      errors.emplace_back(error.what());
    }
    if (!mayReturnView(*op) && !op->mayShareArguments())
      errors.push_back(std::string(name) + ": COPY of an operator that returns no view");
  }
  for (const Operator* op : OperatorTable::get().all()) {
    if (!op->schema().name().starts_with("aten::")) continue;
    if (op->isOfDispatcher() && mayReturnView(*op) && !isReversibleView(*op) && whyNotReversed(*op).empty())
      errors.push_back(op->fullName() + ": a view with neither an inverse nor a reason why it has none");
  }
  return errors;
}

}  // namespace cresset
