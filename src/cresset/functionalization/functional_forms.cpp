#include "cresset/functionalization/functional_forms.h"

#include <ATen/core/jit_type.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cresset/ops/operator.h"

namespace cresset::live {

namespace {

/// Writes that schemas deny: statistics that are updated in training.
struct UnannotatedWrite {
  std::string_view op, functional;
  size_t first, second;  // what is written, if it is there
  int training;          // the argument that says whether; -1: always
};
constexpr UnannotatedWrite kUnannotated[] = {
    {"aten::native_batch_norm", "aten::_native_batch_norm_legit_functional", 3, 4, 5},
    {"aten::cudnn_batch_norm", "", 3, 4, 5},
    {"aten::miopen_batch_norm", "", 3, 4, 5},
    {"aten::batch_norm_gather_stats", "", 3, 4, -1},
    {"aten::batch_norm_gather_stats_with_counts", "", 3, 4, -1},
};

std::optional<c10::OperatorHandle> findOperator(std::string_view full_name) {
  const Operator* op = OperatorTable::get().find(full_name);
  if (!op || !op->handle()) return std::nullopt;
  return *op->handle();
}

/// Whether `form` returns what `op` returns and writes, for the arguments `taken` of it.
bool fits(const c10::FunctionSchema& op, const Writes& writes, const c10::FunctionSchema& form) {
  if (form.arguments().size() != writes.taken.size()) return false;
  for (size_t i = 0; i < writes.taken.size(); ++i) {
    const c10::Argument &ours = op.arguments()[writes.taken[i]], &theirs = form.arguments()[i];
    if (isWritten(theirs) || ours.name() != theirs.name() || *ours.real_type() != *theirs.real_type()) return false;
  }
  size_t fresh = 0;
  for (const c10::Argument& result : op.returns()) fresh += result.alias_info() == nullptr;
  if (form.returns().size() != fresh + writes.arguments.size()) return false;
  for (size_t i = 0; i < writes.arguments.size(); ++i) {
    const c10::Argument& result = form.returns()[fresh + i];
    if (result.alias_info()) return false;
    const bool list = op.arguments()[writes.arguments[i]].type()->kind() == c10::TypeKind::ListType;
    if (list != (result.type()->kind() == c10::TypeKind::ListType)) return false;
  }
  return true;
}

std::unique_ptr<Writes> analyze(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  auto writes = std::make_unique<Writes>();
  bool out = true;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (!isWritten(schema.arguments()[i])) continue;
    writes->arguments.push_back(i);
    out &= schema.arguments()[i].is_out();
  }
  if (writes->arguments.empty()) return nullptr;
  writes->is_out = out;
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (!out || !isWritten(schema.arguments()[i])) writes->taken.push_back(i);
  const std::string& name = schema.name();
  std::vector<std::string> names;
  if (out) {
    names = {name};
  } else {
    const std::string stem = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
    names = {stem + "_functional", stem};
  }
  for (const std::string& candidate : names) {
    for (const Operator* form : OperatorTable::get().overloads(Symbol::fromQualString(candidate))) {
      if (!form->handle() || !fits(schema, *writes, form->schema())) continue;
      writes->functional = *form->handle();
      return writes;
    }
  }
  return writes;
}

const Writes* unannotated(const UnannotatedWrite& row, std::span<const c10::IValue> arguments) {
  if (arguments.size() <= row.second || !arguments[row.first].isTensor() || !arguments[row.second].isTensor())
    return nullptr;
  if (row.training >= 0 && !arguments[static_cast<size_t>(row.training)].toBool()) return nullptr;
  static std::mutex mutex;
  static auto* known = new std::map<std::string_view, std::unique_ptr<Writes>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Writes>& writes = (*known)[row.op];
  if (!writes) {
    writes = std::make_unique<Writes>();
    writes->arguments = {row.first, row.second};
    if (!row.functional.empty()) writes->functional = findOperator(row.functional);
    for (size_t i = 0; i < arguments.size(); ++i) writes->taken.push_back(i);
  }
  return writes.get();
}

}  // namespace

const Writes* writesOf(const c10::OperatorHandle& op, std::span<const c10::IValue> arguments) {
  struct Known {
    std::unique_ptr<Writes> writes;
    const UnannotatedWrite* unannotated = nullptr;
  };
  static std::mutex mutex;
  static auto* known = new std::unordered_map<c10::OperatorName, Known>;
  const Known* found = nullptr;
  {
    const std::lock_guard lock(mutex);
    const auto [place, is_new] = known->try_emplace(op.operator_name());
    if (is_new) {
      place->second.writes = analyze(op);
      for (const UnannotatedWrite& row : kUnannotated)
        if (row.op == op.schema().name() && op.schema().overload_name().empty()) place->second.unannotated = &row;
    }
    found = &place->second;
  }
  if (found->unannotated) return unannotated(*found->unannotated, arguments);
  return found->writes.get();
}

std::optional<c10::OperatorHandle> viewOfInPlaceView(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.name();
  if (!name.ends_with('_') || schema.arguments().empty() || !isWritten(schema.arguments()[0])) return std::nullopt;
  const Symbol stem = Symbol::fromQualString(name.substr(0, name.size() - 1));
  for (const Operator* view : OperatorTable::get().overloads(stem)) {
    const auto& arguments = view->schema().arguments();
    const auto& returns = view->schema().returns();
    if (!view->handle() || arguments.size() != schema.arguments().size() || returns.size() != 1) continue;
    if (!returns[0].alias_info() || returns[0].alias_info()->isWrite()) continue;
    bool same = true;
    for (size_t i = 0; i < arguments.size(); ++i)
      same &= arguments[i].name() == schema.arguments()[i].name() &&
              *arguments[i].real_type() == *schema.arguments()[i].real_type();
    if (same) return *view->handle();
  }
  return std::nullopt;
}

}  // namespace cresset::live
