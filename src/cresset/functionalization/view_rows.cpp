#include "cresset/functionalization/view_rows.h"

#include <ATen/core/jit_type.h>

#include <map>
#include <mutex>
#include <unordered_map>

#include "cresset/frontend/compiler.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

struct ViewColumn {
  enum class Kind { Operator, Inverse, Reason } kind;
  std::string_view text;
};

constexpr ViewColumn kViewColumns[] = {
#define OPERATOR(name) {ViewColumn::Kind::Operator, name},
#define VIEW(inverse) {ViewColumn::Kind::Inverse, inverse},
#define NOT_REVERSED(reason) {ViewColumn::Kind::Reason, reason},
#include "cresset/ops/table/table.def"
};

/// What several rules call.
constexpr std::string_view kHelpers = R"(
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
)";

class ViewBook {
 public:
  static ViewBook& get() {
    static auto* book = new ViewBook;
    return *book;
  }

  std::string_view inverse(const Operator& op) const { return find(inverses_, op); }
  std::string_view reason(const Operator& op) const { return find(reasons_, op); }
  const std::unordered_map<std::string_view, std::string_view>& inverses() const { return inverses_; }

  const Graph& compiled(const Operator& op) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Graph>& graph = compiled_[op.fullName()];
    if (graph) return *graph;
    if (!program_) {
      program_ = Program::make();
      declareSource(*program_, std::make_shared<const Source>(std::string(kHelpers), "<inverses of views>"), {});
    }
    const std::string text = textOf(op, "inverse" + std::to_string(compiled_.size()));
    try {
      const auto functions =
          defineSource(*program_, std::make_shared<const Source>(text, "<inverse of " + op.fullName() + ">"), {});
      auto copy = functions.at(0)->graph()->copy();
      inlineRule(*copy, op.fullName());
      graph = std::move(copy);
    } catch (const std::exception& error) {
      throw InternalError("the inverse of " + op.fullName() + " does not compile: " + error.what());
    }
    return *graph;
  }

 private:
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
      }
    }
  }

  static std::string_view find(
      const std::unordered_map<std::string_view, std::string_view>& column, const Operator& op) {
    const auto found = column.find(op.fullName());
    return found == column.end() ? std::string_view() : found->second;
  }

  std::string textOf(const Operator& op, const std::string& name) const {
    std::string text = "def " + name + "(";
    for (const c10::Argument& argument : op.schema().arguments())
      text += argument.name() + ": " + argument.type()->annotation_str() + ", ";
    text += isViewsInList(op) ? "view: Tensor, index: int" : "view: Tensor";
    return text + ") -> Tensor:\n  return " + std::string(inverse(op)) + "\n";
  }

  std::unordered_map<std::string_view, std::string_view> inverses_, reasons_;
  std::mutex mutex_;
  std::shared_ptr<Program> program_;
  std::map<std::string, std::shared_ptr<const Graph>> compiled_;
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

const Graph& inverseOf(const Operator& view) {
  CRESSET_CHECK(isReversibleView(view), "an inverse is asked of a view that has one: " + view.fullName());
  return ViewBook::get().compiled(view);
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
  for (const Operator* op : OperatorTable::get().all()) {
    const auto& schema = op->schema();
    if (!op->isOfDispatcher() || !schema.name().starts_with("aten::")) continue;
    bool returns_view = false;
    for (const auto& result : schema.returns()) {
      returns_view |= result.alias_info() && !result.alias_info()->isWrite();
    }
    if (returns_view && !isReversibleView(*op) && whyNotReversed(*op).empty())
      errors.push_back(op->fullName() + ": a view with neither an inverse nor a reason why it has none");
  }
  return errors;
}

}  // namespace cresset
