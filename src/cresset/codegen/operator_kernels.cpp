#include "cresset/codegen/operator_kernels.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "cresset/codegen/ahead_of_time.h"
#include "cresset/codegen/loops.h"
#include "cresset/ops/expression.h"
#include "cresset/ops/operator_rows.h"

namespace cresset::codegen {

namespace {

using Choice = OperatorKernels::Choice;
using Choices = std::vector<Choice>;
using ArgumentKind = ScalarArgument::Kind;

constexpr size_t kMaxForms = 64;

bool isNumber(const c10::IValue& value) {
  return value.isDouble() || value.isInt() || value.isBool();
}

/// Numbers become doubles on their way to a kernel.
bool isExactlyDouble(const c10::IValue& number) {
  constexpr int64_t kLimit = int64_t{1} << 53;
  return !number.isInt() || (number.toInt() >= -kLimit && number.toInt() <= kLimit);
}

double asDouble(const c10::IValue& number) {
  return number.toScalar().toDouble();
}

bool isSame(const c10::IValue& a, const c10::IValue& b) {
  if (isNumber(a) && isNumber(b)) return asDouble(a) == asDouble(b);
  return (a.isNone() && b.isNone()) || (a.isString() && b.isString() && a.toStringRef() == b.toStringRef());
}

std::optional<c10::IValue> literal(const Expression& e) {
  if (e.kind == Expression::Kind::Text) return c10::IValue(std::string(e.text));
  if (e.kind == Expression::Kind::Integer) return c10::IValue(e.integer);
  if (e.kind == Expression::Kind::Real) return c10::IValue(e.real);
  if (e.kind != Expression::Kind::Unary || e.text != "-") return std::nullopt;
  const auto operand = literal(e.children[0]);
  if (!operand || !isNumber(*operand)) return std::nullopt;
  return operand->isInt() ? c10::IValue(-operand->toInt()) : c10::IValue(-operand->toDouble());
}

/// Adds what the body asks the argument to be equal to.
void collectLiterals(const Expression& e, std::string_view argument, Choices& choices) {
  for (const Expression& child : e.children) collectLiterals(child, argument, choices);
  if (e.kind != Expression::Kind::Binary || (e.text != "==" && e.text != "!=")) return;
  const Expression& name = e.children[0];
  const auto value = literal(e.children[1]);
  if (!value || name.kind != Expression::Kind::Name || name.text != argument) return;
  const auto is = [&](const Choice& choice) { return isSame(choice.known, *value); };
  if (std::none_of(choices.begin(), choices.end(), is)) choices.push_back({ArgumentKind::Known, *value});
}

Choices choicesOf(const c10::Argument& argument, const ExpressionList& body) {
  Choices choices;
  const c10::Type* type = argument.type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    choices.push_back({ArgumentKind::Known, {}});
    type = optional->getElementType().get();
  }
  for (const auto& [name, value] : body.assignments) collectLiterals(value, argument.name(), choices);
  collectLiterals(body.results[0], argument.name(), choices);
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      choices.push_back({ArgumentKind::Element, {}});
      break;
    case c10::TypeKind::BoolType:
      choices.push_back({ArgumentKind::Known, false});
      choices.push_back({ArgumentKind::Known, true});
      break;
    case c10::TypeKind::NumberType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::IntType:
      choices.push_back({ArgumentKind::Number, {}});
      break;
    case c10::TypeKind::StringType:
      if (const auto& initial = argument.default_value()) {
        const auto is = [&](const Choice& choice) { return isSame(choice.known, *initial); };
        if (std::none_of(choices.begin(), choices.end(), is)) choices.push_back({ArgumentKind::Known, *initial});
      }
      break;
    default:
      break;
  }
  return choices;
}

bool accepts(const Choice& choice, const c10::IValue& value) {
  switch (choice.kind) {
    case ArgumentKind::Element:
      return value.isTensor() && value.toTensor().defined();
    case ArgumentKind::Number:
      return isNumber(value) && isExactlyDouble(value);
    case ArgumentKind::Known:
      break;
  }
  if (value.isTensor()) return choice.known.isNone() && !value.toTensor().defined();
  return isSame(choice.known, value);
}

}  // namespace

struct OperatorKernels::Found {
  Functions functions;
};

OperatorKernels::OperatorKernels(const Operator& op) : op_(op) {
  const OperatorRow* row = findOperatorRow(op.fullName());
  const auto& arguments = op.schema().arguments();
  // Comparisons compute in another dtype than their result's; they have eager's bits.
  if (!row || row->scalar.empty() || !row->computes_in.empty() || !row->reduces.empty() ||
      op.schema().returns().size() != 1)
    num_forms_ = 0;
  if (num_forms_ != 0) {
    const ExpressionList body = parseExpressions(row->scalar);
    for (const c10::Argument& argument : arguments) {
      choices_.push_back(choicesOf(argument, body));
      num_forms_ *= choices_.back().size();
    }
  }
  if (num_forms_ > kMaxForms) num_forms_ = 0;
  for (size_t form = 0; form < num_forms_; ++form) {
    for (const at::ScalarType dtype : kDtypes) {
      KernelBuilder builder;
      bool own = false;
      try {
        const ScalarBody::Built built = build(builder, form, dtype);
        own = !built.is_exact && !built.reduces;
      } catch (const Unsupported&) {
        own = false;
      }
      own_.push_back(own);
    }
  }
  found_ = std::make_unique<std::atomic<const Found*>[]>(own_.size());
}

OperatorKernels::~OperatorKernels() {
  for (size_t i = 0; i < own_.size(); ++i) delete found_[i].load(std::memory_order_relaxed);
}

const OperatorKernels* OperatorKernels::of(const Operator& op) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::unordered_map<const Operator*, std::unique_ptr<const OperatorKernels>>;
  const ScalarBody* body = ScalarBody::of(op);
  if (!body || body->broadcasts()) return nullptr;
  const std::lock_guard lock(*mutex);
  const auto [entry, is_new] = all->try_emplace(&op);
  if (is_new) {
    auto made = std::make_unique<const OperatorKernels>(op);
    if (std::find(made->own_.begin(), made->own_.end(), uint8_t{1}) != made->own_.end())
      entry->second = std::move(made);
  }
  return entry->second.get();
}

OperatorKernels::Form OperatorKernels::form(size_t form) const {
  Form chosen;
  for (const Choices& choices : choices_) {
    chosen.push_back(&choices[form % choices.size()]);
    form /= choices.size();
  }
  return chosen;
}

std::optional<size_t> OperatorKernels::formOf(std::span<const c10::IValue* const> arguments) const {
  if (arguments.size() != choices_.size()) return std::nullopt;
  size_t form = 0, factor = 1;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const auto found = std::find_if(
        choices_[i].begin(), choices_[i].end(), [&](const Choice& choice) { return accepts(choice, *arguments[i]); });
    if (found == choices_[i].end()) return std::nullopt;
    form += factor * static_cast<size_t>(found - choices_[i].begin());
    factor *= choices_[i].size();
  }
  return form;
}

size_t OperatorKernels::indexOf(size_t form, at::ScalarType dtype) const {
  const auto found = std::find(kDtypes.begin(), kDtypes.end(), dtype);
  return found == kDtypes.end() ? own_.size() : form * kDtypes.size() + static_cast<size_t>(found - kDtypes.begin());
}

bool OperatorKernels::hasOwnBits(size_t form, at::ScalarType dtype) const {
  const size_t index = indexOf(form, dtype);
  return index < own_.size() && own_[index] != 0;
}

bool OperatorKernels::hasOwnBits(std::span<const std::optional<c10::IValue>> known) const {
  for (size_t number = 0; number < num_forms_; ++number) {
    const auto chosen = form(number);
    bool fits = true;
    for (size_t i = 0; i < known.size() && i < chosen.size(); ++i) {
      if (!known[i]) continue;
      // A number that the body asks for has a form of its own.
      const auto first = std::find_if(
          choices_[i].begin(), choices_[i].end(), [&](const Choice& choice) { return accepts(choice, *known[i]); });
      fits = fits && first != choices_[i].end() && &*first == chosen[i];
    }
    if (!fits) continue;
    for (const at::ScalarType dtype : kDtypes) {
      if (hasOwnBits(number, dtype)) return true;
    }
  }
  return false;
}

ScalarBody::Built OperatorKernels::build(KernelBuilder& builder, size_t form, at::ScalarType dtype) const {
  std::vector<ScalarArgument> arguments;
  size_t tensors = 0, numbers = 0;
  for (const Choice* choice : this->form(form)) {
    ScalarArgument& argument = arguments.emplace_back();
    argument.kind = choice->kind;
    argument.dtype = dtype;
    argument.known = choice->known;
    if (choice->kind == ArgumentKind::Element) argument.value = builder.load(tensors++, dtype);
    if (choice->kind == ArgumentKind::Number) argument.value = builder.number(numbers++, at::kDouble);
    argument.is_other = choice->kind == ArgumentKind::Number;  // those have forms of their own
  }
  return ScalarBody::of(op_)->build(builder, op_, arguments, dtype, std::array{dtype})[0];
}

Kernel OperatorKernels::kernel(size_t form, at::ScalarType dtype, Step step) const {
  KernelBuilder builder;
  const Register result = build(builder, form, dtype).value;
  KernelBody body;
  for (const Choice* choice : this->form(form)) {
    if (choice->kind == ArgumentKind::Element) body.inputs.push_back(dtype);
    if (choice->kind == ArgumentKind::Number) body.numbers.push_back(at::kDouble);
  }
  body.outputs.push_back(dtype);
  builder.store(body.inputs.size(), result);
  body.code = builder.code();
  LoopNest row;
  row.sizes = {1};
  row.steps.assign(body.inputs.size() + 1, {step});
  return makeKernel(body, row, /*keeps=*/false);
}

const OperatorKernels::Functions* OperatorKernels::find(size_t form, at::ScalarType dtype) const {
  if (!hasOwnBits(form, dtype)) return nullptr;
  std::atomic<const Found*>& known = found_[indexOf(form, dtype)];
  const Found* found = known.load(std::memory_order_acquire);
  if (!found) {
    auto made = std::make_unique<Found>();
    made->functions = {
        findAheadOfTime(kernel(form, dtype, Step::Next)), findAheadOfTime(kernel(form, dtype, Step::Any))};
    if (known.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) found = made.release();
  }
  return found->functions.next && found->functions.any ? &found->functions : nullptr;
}

}  // namespace cresset::codegen
