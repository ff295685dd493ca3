#include "cresset/ops/operator_forms.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr ColumnCell<std::string_view> kPreferredNames[] = {
#define OPERATOR(name) {name, {}},
#define OVERLOADS(name) {name, {}},
#define SAME_AS(other) {{}, other},
#include "cresset/ops/table/table.def"
};

/// Writes that a schema denies.
struct Update {
  std::string_view arguments;   // written, if they are there: "running_mean, running_var"
  std::string_view condition;   // the bool that says whether; empty: always
  std::string_view functional;  // the full name of the functional form; empty if there is none
};

constexpr ColumnCell<Update> kUpdates[] = {
#define OPERATOR(name) {name, {}},
#define UPDATES(arguments, condition, functional) {{}, {arguments, condition, functional}},
#include "cresset/ops/table/table.def"
};

constexpr ColumnCell<std::string_view> kReadsMemory[] = {
#define OPERATOR(name) {name, {}},
#define READS_MEMORY(arguments) {{}, arguments},
#include "cresset/ops/table/table.def"
};

constexpr ColumnCell<const char*> kNoOut[] = {
#define OPERATOR(name) {name, {}},
#define NO_OUT(reason) {{}, reason},
#include "cresset/ops/table/table.def"
};

const std::unordered_map<std::string_view, std::string_view>& preferredNames() {
  static const auto* names = new auto(byOperator(kPreferredNames));
  return *names;
}

const std::unordered_map<std::string_view, Update>& updates() {
  static const auto* all = new auto(byOperator(kUpdates));
  return *all;
}

/// Of another name; of an in-place operator that has none, by the form without underscore. Empty if there is none.
std::string preferredName(const std::string& name) {
  const auto& names = preferredNames();
  if (const auto found = names.find(name); found != names.end()) return std::string(found->second);
  if (!name.ends_with('_')) return {};
  const auto found = names.find(std::string_view(name).substr(0, name.size() - 1));
  return found == names.end() ? std::string() : std::string(found->second) + "_";
}

/// Whether calls of one are calls of the other: arguments of the same types and order, what is left out the same.
bool takesTheSame(const c10::FunctionSchema& a, const c10::FunctionSchema& b) {
  const auto same = [](const std::vector<c10::Argument>& x, const std::vector<c10::Argument>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const c10::Argument& one, const c10::Argument& other) {
      return *one.real_type() == *other.real_type() && isWritten(one) == isWritten(other);
    });
  };
  return same(a.arguments(), b.arguments()) && same(a.returns(), b.returns());
}

/// Whether both are called with the same argument.
bool isSameArgument(const c10::Argument& a, const c10::Argument& b) {
  return a.name() == b.name() && *a.real_type() == *b.real_type();
}

std::string withoutUnderscore(const std::string& name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

/// Throws InternalError if the operator has no argument of that name.
size_t indexOf(const c10::FunctionSchema& schema, std::string_view argument) {
  const auto index = schema.argumentIndexWithName(std::string(argument));
  if (!index)
    throw InternalError(schema.name() + ": a column names '" + std::string(argument) + "', which is no argument");
  return static_cast<size_t>(*index);
}

/// Of "running_mean, running_var".
std::vector<size_t> indicesOf(const c10::FunctionSchema& schema, std::string_view names) {
  std::vector<size_t> indices;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(", "), names.size());
    indices.push_back(indexOf(schema, names.substr(0, comma)));
    names.remove_prefix(std::min(comma + 2, names.size()));
  }
  return indices;
}

HiddenWrites hiddenWrites(const c10::FunctionSchema& schema, const Update& update) {
  HiddenWrites writes;
  writes.arguments = indicesOf(schema, update.arguments);
  if (!update.condition.empty()) writes.condition = indexOf(schema, update.condition);
  return writes;
}

/// What writesOfCall remembers of an operator.
struct CallWrites {
  FunctionalForm form;
  std::optional<HiddenWrites> hidden;
};

CallWrites findWrites(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const auto found = updates().find(c10::toString(op.operator_name()));
  if (found == updates().end()) return {functionalForm(schema), std::nullopt};
  CallWrites writes{{}, hiddenWrites(schema, found->second)};
  writes.form.written = writes.hidden->arguments;
  for (size_t i = 0; i < schema.arguments().size(); ++i) writes.form.taken.push_back(i);
  if (!found->second.functional.empty()) writes.form.op = OperatorTable::get().find(found->second.functional);
  return writes;
}

}  // namespace

const Operator* sameOperator(const Operator& op) {
  const std::string name = preferredName(op.schema().name());
  if (name.empty()) return nullptr;
  // Overloads of one operator may have other names than those of the other.
  for (const Operator* candidate : OperatorTable::get().overloads(Symbol::fromQualString(name))) {
    if (takesTheSame(op.schema(), candidate->schema())) return candidate;
  }
  return nullptr;
}

std::vector<std::string_view> otherNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, preferred] : preferredNames()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool hasOutArgument(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& a) { return a.is_out(); });
}

bool isListOfTensors(const c10::Argument& argument) {
  const c10::Type& type = *argument.type();
  return type.kind() == c10::TypeKind::ListType && type.containedType(0)->kind() == c10::TypeKind::TensorType;
}

const Operator& withoutReuse(const Operator& op) {
  const Operator* functional = op.isInPlaceReuse() ? OperatorTable::get().find(op.functionalName()) : &op;
  CRESSET_CHECK(functional, "an in-place reuse is made of an operator that there is");
  return *functional;
}

std::vector<size_t> tensorWritesOf(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  const auto isTensors = [](const c10::Argument& argument) {
    const c10::Type& type = *argument.type();
    return type.isSubtypeOf(*c10::OptionalType::ofTensor()) || isListOfTensors(argument);
  };
  std::vector<size_t> written;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* info = arguments[i].alias_info();
    const bool holds_written =
        info && std::ranges::any_of(info->containedTypes(), [](const c10::AliasInfo& held) { return held.isWrite(); });
    if ((isWritten(arguments[i]) || holds_written) && isTensors(arguments[i])) written.push_back(i);
  }
  const std::string& overload = schema.overload_name();
  const auto update = updates().find(overload.empty() ? schema.name() : schema.name() + "." + overload);
  if (update == updates().end()) return written;
  for (const size_t i : indicesOf(schema, update->second.arguments)) written.push_back(i);
  return written;
}

std::optional<size_t> argumentOf(const c10::FunctionSchema& schema, size_t result) {
  const c10::AliasInfo* info = schema.returns()[result].alias_info();
  if (!info) return std::nullopt;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* other = schema.arguments()[i].alias_info();
    if (other && !info->beforeSets().empty() && other->beforeSets() == info->beforeSets()) return i;
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kOwn = "cresset::", kFunctionalCall = "functional_";

}  // namespace

std::string functionalCallName(std::string_view operator_name) {
  const size_t colons = operator_name.find("::");
  const std::string space(operator_name.substr(0, colons));
  return std::string(kOwn).append(kFunctionalCall) + space + "_" + std::string(operator_name.substr(colons + 2));
}

bool isFunctionalCallName(std::string_view name) {
  return name.starts_with(kOwn) && name.substr(kOwn.size()).starts_with(kFunctionalCall);
}

FunctionalForm writesOf(const c10::FunctionSchema& schema) {
  FunctionalForm writes;
  const auto& arguments = schema.arguments();
  writes.is_out = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!isWritten(arguments[i])) continue;
    writes.written.push_back(i);
    writes.is_out &= arguments[i].is_out();
  }
  writes.is_out &= !writes.written.empty();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!writes.is_out || !isWritten(arguments[i])) writes.taken.push_back(i);
  }
  return writes;
}

bool isFunctionalForm(
    const c10::FunctionSchema& other, const FunctionalForm& writes, const c10::FunctionSchema& schema) {
  if (other.arguments().size() != writes.taken.size()) return false;
  for (size_t i = 0; i < writes.taken.size(); ++i) {
    const c10::Argument& argument = other.arguments()[i];
    if (isWritten(argument) || !isSameArgument(argument, schema.arguments()[writes.taken[i]])) return false;
  }
  size_t fresh = 0;
  for (const c10::Argument& result : schema.returns()) fresh += result.alias_info() == nullptr;
  const auto& results = other.returns();
  if (results.size() != fresh + writes.written.size()) return false;
  const auto isList = [](const c10::Argument& argument) { return argument.type()->kind() == c10::TypeKind::ListType; };
  for (size_t i = 0; i < writes.written.size(); ++i) {
    const c10::Argument& result = results[fresh + i];
    if (result.alias_info() || isList(result) != isList(schema.arguments()[writes.written[i]])) return false;
  }
  return true;
}

FunctionalForm functionalForm(const c10::FunctionSchema& schema) {
  FunctionalForm form = writesOf(schema);
  if (form.written.empty()) return form;
  const std::string& name = schema.name();
  const std::string stem = withoutUnderscore(name);
  const std::vector<std::string> names =
      form.is_out ? std::vector{name} : std::vector<std::string>{stem + "_functional", stem};
  for (const std::string& candidate : names) {
    for (const Operator* other : OperatorTable::get().overloads(Symbol::fromQualString(candidate))) {
      if (!isFunctionalForm(other->schema(), form, schema)) continue;
      form.op = other;
      return form;
    }
  }
  return form;
}

const Operator* viewForm(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  const std::string& name = schema.name();
  if (!name.ends_with('_') || arguments.empty() || !isWritten(arguments[0])) return nullptr;
  for (const Operator* view : OperatorTable::get().overloads(Symbol::fromQualString(withoutUnderscore(name)))) {
    const auto &theirs = view->schema().arguments(), &returns = view->schema().returns();
    const bool is_view = returns.size() == 1 && returns[0].alias_info() && !isWritten(returns[0]);
    if (is_view && std::equal(theirs.begin(), theirs.end(), arguments.begin(), arguments.end(), isSameArgument))
      return view;
  }
  return nullptr;
}

const Operator* copyForm(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  for (const Operator* copy : OperatorTable::get().overloads(Symbol::fromQualString(schema.name() + "_copy"))) {
    const auto &theirs = copy->schema().arguments(), &returns = copy->schema().returns();
    const bool is_copy =
        std::ranges::none_of(returns, [](const c10::Argument& result) { return result.alias_info() != nullptr; });
    if (is_copy && std::equal(theirs.begin(), theirs.end(), arguments.begin(), arguments.end(), isSameArgument))
      return copy;
  }
  return nullptr;
}

const HiddenWrites* hiddenWritesOf(const Operator& op) {
  // Asked of each node of each graph: nearly all operators are told apart by a number.
  struct Known {
    Symbol kind;
    std::string_view full_name;
    HiddenWrites writes;
  };
  static const auto* all = [] {
    auto* known = new std::vector<Known>;
    for (const auto& [name, update] : updates()) {
      const Operator* found = OperatorTable::get().find(name);
      if (found) known->push_back({found->kind(), name, hiddenWrites(found->schema(), update)});
    }
    return known;
  }();
  for (const Known& known : *all) {
    if (known.kind == op.kind() && known.full_name == op.fullName()) return &known.writes;
  }
  return nullptr;
}

const std::vector<size_t>* readsMemory(const c10::OperatorHandle& op) {
  // Asked of each call: the operators are PyTorch's own, whose schemas stay where they are.
  static const auto* all = [] {
    auto* known = new std::unordered_map<const c10::FunctionSchema*, std::vector<size_t>>;
    for (const auto& [name, arguments] : byOperator(kReadsMemory)) {
      const Operator* found = OperatorTable::get().find(name);
      if (found && found->handle()) (*known)[&found->handle()->schema()] = indicesOf(found->schema(), arguments);
    }
    return known;
  }();
  const auto found = all->find(&op.schema());
  return found == all->end() ? nullptr : &found->second;
}

const char* refusalOfOutOverload(const Operator& op) {
  static const auto* reasons = new auto(byOperator(kNoOut));
  const auto found = reasons->find(op.fullName());
  return found == reasons->end() ? nullptr : found->second;
}

const FunctionalForm* writesOfCall(const c10::OperatorHandle& op, std::span<const c10::IValue> arguments) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<c10::OperatorName, std::unique_ptr<const CallWrites>>;
  const CallWrites* found = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (const auto place = known->find(op.operator_name()); place != known->end()) found = place->second.get();
  }
  if (!found) {
    auto made = std::make_unique<const CallWrites>(findWrites(op));
    const std::lock_guard lock(mutex);
    found = known->emplace(op.operator_name(), std::move(made)).first->second.get();
  }
  const FunctionalForm& form = found->form;
  if (form.written.empty()) return nullptr;
  if (found->hidden) {
    const auto isGiven = [&](size_t argument) {
      return arguments[argument].isTensor() && arguments[argument].toTensor().defined();
    };
    if (!std::all_of(form.written.begin(), form.written.end(), isGiven)) return nullptr;
    if (found->hidden->condition && !arguments[*found->hidden->condition].toBool()) return nullptr;
  }
  return &form;
}

std::vector<std::string> formErrors() {
  std::vector<std::string> errors;
  for (const std::string_view name : otherNames()) {
    const auto overloads = OperatorTable::get().overloads(Symbol::fromQualString(std::string(name)));
    if (std::none_of(overloads.begin(), overloads.end(), [](const Operator* op) { return sameOperator(*op); }))
      errors.push_back(std::string(name) + ": no overload of what SAME_AS names takes and returns the same");
  }
  const auto check = [&](const auto& read) {
    try {
      read();
    } catch (const std::exception& error) {
      errors.emplace_back(error.what());
    }
  };
  for (const auto& [name, arguments] : byOperator(kReadsMemory)) {
    if (const Operator* op = OperatorTable::get().find(name)) check([&] { indicesOf(op->schema(), arguments); });
  }
  for (const auto& [name, update] : updates()) {
    const Operator* op = OperatorTable::get().find(name);
    if (!op) continue;  // tableErrors() says so
    check([&] { hiddenWrites(op->schema(), update); });
    if (!update.functional.empty() && !OperatorTable::get().find(update.functional))
      errors.push_back(std::string(name) + ": UPDATES names " + std::string(update.functional) + ", which is none");
  }
  return errors;
}

}  // namespace cresset
