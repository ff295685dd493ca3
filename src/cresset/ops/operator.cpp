// One operator: what its schema and the dispatcher's tags say of it, and how it is called.
#include "cresset/ops/operator.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/_to_copy_ops.h>
#include <ATen/ops/copy_ops.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "cresset/ops/checked_arguments.h"
#include "cresset/ops/functorch.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/own_memory.h"
#include "cresset/ops/policy.h"

namespace cresset {

ScriptRaise::ScriptRaise(std::string python_class, std::string message)
    : python_class_(std::move(python_class)), message_(std::move(message)) {}

namespace {

std::string fullNameOf(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

bool writesArgument(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), isWritten);
}

bool returnsAlias(const c10::FunctionSchema& schema) {
  for (const auto& result : schema.returns()) {
    if (result.alias_info()) return true;
  }
  return false;
}

/// What the table says.
Trait traitsOfRow(std::string_view full_name) {
  const OperatorRow* row = findOperatorRow(full_name);
  return row ? row->traits : Trait::None;
}

Trait traitsOf(const c10::OperatorHandle& handle) {
  Trait traits = Trait::None;
  const auto& schema = handle.schema();
  if (handle.hasTag(at::Tag::nondeterministic_seeded)) traits = traits | Trait::SideEffect | Trait::Nondeterministic;
  if (handle.hasTag(at::Tag::nondeterministic_bitwise)) traits = traits | Trait::Nondeterministic;
  if (handle.hasTag(at::Tag::pointwise)) traits = traits | Trait::Pointwise;
  // An operator that returns nothing and writes nothing is called for something else that it does; and a schema that
  // was inferred from a C++ signature says nothing about writes.
  bool conservative = schema.aliasAnalysis() == c10::AliasAnalysisKind::CONSERVATIVE;
  if (conservative || (schema.returns().empty() && !schema.is_varret() && !writesArgument(schema))) {
    traits = traits | Trait::SideEffect;
  }
  return traits;
}

}  // namespace

Operator::Operator(c10::FunctionSchema schema, Kernel kernel, Trait traits, Restriction restriction)
    : schema_(std::move(schema)),
      kind_(Symbol::fromQualString(schema_.name())),
      full_name_(fullNameOf(schema_)),
      kernel_(kernel),
      traits_(traits),
      restriction_(restriction),
      mutable_(writesArgument(schema_)) {
  if (schema_.returns().empty() && !schema_.is_varret() && !mutable_) traits_ = traits_ | Trait::SideEffect;
  traits_ = traits_ | traitsOfRow(full_name_);
  setAutocast(findOperatorRow(full_name_));
}

Operator::Operator(const c10::OperatorHandle& handle)
    : schema_(handle.schema()),
      kind_(Symbol::fromQualString(schema_.name())),
      full_name_(fullNameOf(schema_)),
      handle_(new c10::OperatorHandle(handle)),
      traits_(traitsOf(handle) | traitsOfRow(full_name_)),
      restriction_(restrictionOf(schema_)),
      argument_check_(argumentCheckOf(full_name_)),
      replacement_(replacementOf(full_name_)),
      mutable_(writesArgument(schema_)) {
  if (const OperatorRow* row = findOperatorRow(full_name_)) convolution_ = row->convolution;
  // Operators of other libraries may count, print or talk to other processes, whatever their schemas say.
  if (restriction_ == Restriction::Foreign) traits_ = traits_ | Trait::SideEffect | Trait::Nondeterministic;
  setAutocast(findOperatorRow(full_name_));
}

/// What the row says. If it doesn't: kernels, and views of an argument, call nothing that is cast; what is made of
/// other operators may.
void Operator::setAutocast(const OperatorRow* row) {
  if (!row || (row->facts.empty() && row->autocast_cpu == Autocast::Unknown)) return;
  const auto* registered = handle();
  const bool is_composite =
      registered && registered->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  const Autocast usual = is_composite && !returnsAlias(schema_) ? Autocast::Inside : Autocast::None;
  autocast_cpu_ = row->autocast_cpu == Autocast::Unknown ? usual : row->autocast_cpu;
  autocast_cuda_ = row->autocast_cuda == Autocast::Unknown ? usual : row->autocast_cuda;
}

namespace {

c10::Argument withoutAlias(const c10::Argument& of) {
  return c10::Argument(of.name(), of.type(), of.real_type(), of.N(), of.default_value(), of.kwarg_only(), std::nullopt);
}

/// The schema of an in-place operator as that of an in-place reuse: it writes nothing and returns a new tensor.
c10::FunctionSchema inPlaceReuseSchema(const c10::FunctionSchema& in_place, const c10::FunctionSchema& functional) {
  std::vector<c10::Argument> arguments, results;
  for (const auto& argument : in_place.arguments()) arguments.push_back(withoutAlias(argument));
  for (const auto& result : in_place.returns()) results.push_back(withoutAlias(result));
  c10::FunctionSchema schema(
      "cresset::" + functional.name().substr(std::string_view("aten::").size()), in_place.overload_name(),
      std::move(arguments), std::move(results));
  schema.setAliasAnalysis(c10::AliasAnalysisKind::FROM_SCHEMA);
  return schema;
}

}  // namespace

Operator::Operator(const c10::OperatorHandle& in_place, const Operator& functional)
    : schema_(inPlaceReuseSchema(in_place.schema(), functional.schema())),
      kind_(Symbol::fromQualString(schema_.name())),
      full_name_(fullNameOf(schema_)),
      functional_name_(functional.fullName()),
      handle_(new c10::OperatorHandle(in_place)),
      traits_(
          traitsOf(in_place) | Trait::ReusesFirst |
          (functional.traits_ & (Trait::AutogradKeepsMore | Trait::InPlaceDerivativeDiffers))),
      restriction_(restrictionOf(in_place.schema())) {
  // Autocast casts nothing for in-place operators; of those that are made of others, what they call.
  if (!in_place.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))
    autocast_cpu_ = autocast_cuda_ = Autocast::None;
}

namespace {

/// The schema of the functional call of an operator that writes to these arguments.
c10::FunctionSchema functionalCallSchema(const c10::FunctionSchema& writer, const std::vector<size_t>& written) {
  std::vector<c10::Argument> arguments, results;
  for (const auto& argument : writer.arguments()) arguments.push_back(withoutAlias(argument));
  arguments.emplace_back("may_resize", c10::BoolType::get(), std::nullopt, std::nullopt, /*kwarg_only=*/true);
  for (const auto& result : writer.returns()) {
    if (!result.alias_info()) results.push_back(withoutAlias(result));
  }
  for (const size_t i : written) {
    const bool is_list = isListOfTensors(writer.arguments()[i]);
    results.emplace_back("", is_list ? c10::TypePtr(c10::ListType::ofTensors()) : c10::TensorType::get());
  }
  c10::FunctionSchema schema(
      functionalCallName(writer.name()), writer.overload_name(), std::move(arguments), std::move(results));
  schema.setAliasAnalysis(c10::AliasAnalysisKind::FROM_SCHEMA);
  return schema;
}

c10::IValue copyOf(const c10::IValue& written) {
  const auto copied = [](const at::Tensor& tensor) { return tensor.defined() ? cloneInLayout(tensor) : tensor; };
  if (written.isTensor()) return copied(written.toTensor());
  if (!written.isTensorList()) return written;  // None
  c10::List<at::Tensor> copies;
  for (const at::Tensor& tensor : written.toTensorList().vec()) copies.push_back(copied(tensor));
  return copies;
}

void collectSizes(const c10::IValue& tensors, std::vector<std::vector<int64_t>>& sizes) {
  if (tensors.isTensor() && tensors.toTensor().defined()) {
    sizes.push_back(tensors.toTensor().sizes().vec());
  } else if (tensors.isTensorList()) {
    for (const at::Tensor& tensor : tensors.toTensorList().vec()) sizes.push_back(tensor.sizes().vec());
  }
}

}  // namespace

Operator::Operator(OnCopies call)
    : schema_(functionalCallSchema(call.writer.schema(), tensorWritesOf(call.writer.schema()))),
      kind_(Symbol::fromQualString(schema_.name())),
      full_name_(fullNameOf(schema_)),
      writer_(&call.writer),
      written_(tensorWritesOf(writer_->schema_)),
      traits_(call.writer.traits_ & (Trait::SideEffect | Trait::Nondeterministic | Trait::AsksAutograd)),
      restriction_(call.writer.restriction_) {}

void Operator::callOnCopies(Stack& stack, const std::function<void(Stack&, size_t)>& call) const {
  const bool may_resize = stack.back().toBool();
  stack.pop_back();
  const size_t first = stack.size() - writer_->schema_.arguments().size();
  std::vector<c10::IValue> written;
  std::vector<std::vector<int64_t>> before, after;
  for (const size_t i : written_) {
    c10::IValue& argument = stack[first + i];
    const c10::IValue original = std::exchange(argument, copyOf(argument));
    // What is written and read, of which a pointwise operator asks for the sizes, is one tensor for the kernel, too.
    for (size_t k = first; writer_->isPointwise() && original.isTensor() && k < stack.size(); ++k)
      if (stack[k].isTensor() && stack[k].toTensor().is_same(original.toTensor())) stack[k] = argument;
    collectSizes(argument, before);
    written.push_back(argument);
  }
  call(stack, stack.size() - first);
  for (const c10::IValue& tensors : written) collectSizes(tensors, after);
  if (!may_resize && before != after)
    throw std::runtime_error(
        writer_->full_name_ +
        " changed the sizes of a tensor that it writes to; a functional program can follow that only "
        "where the program made the tensor itself and it is no view");
  const auto& returns = writer_->schema_.returns();
  const size_t begin = stack.size() - returns.size();
  std::vector<c10::IValue> results;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (!returns[i].alias_info()) results.push_back(std::move(stack[begin + i]));
  }
  stack.resize(begin);
  for (c10::IValue& result : results) stack.push_back(std::move(result));
  for (c10::IValue& tensors : written)
    stack.push_back(tensors.isNone() ? c10::IValue(at::Tensor()) : std::move(tensors));
}

Operator::~Operator() = default;

namespace {

/// How many values the enumeration behind an int argument has; 0 for other arguments.
int64_t enumerationSize(const c10::Argument& argument) {
  const c10::Type* type = argument.real_type().get();
  if (type->kind() == c10::TypeKind::OptionalType) type = type->castRaw<c10::OptionalType>()->getElementType().get();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return static_cast<int64_t>(at::ScalarType::NumOptions);
    case c10::TypeKind::LayoutType:
      return static_cast<int64_t>(at::Layout::NumOptions);
    case c10::TypeKind::MemoryFormatType:
      return static_cast<int64_t>(at::MemoryFormat::NumOptions);
    default:
      return 0;
  }
}

/// ATen trusts these numbers and indexes tables with them; a script may have computed them.
void checkEnumerations(const c10::FunctionSchema& schema, const c10::IValue* args) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!args[i].isInt()) continue;
    const int64_t size = enumerationSize(arguments[i]), value = args[i].toInt();
    if (size == 0 || (value >= 0 && value < size)) continue;
    throw std::runtime_error(
        "Argument '" + arguments[i].name() + "' of " + schema.name() + ": the number " + std::to_string(value) +
        " is no " + arguments[i].real_type()->str());
  }
}

}  // namespace

namespace {

/// What an in-place reuse returns, by its form that writes nothing. False, and the stack as it was, if that returns
/// another dtype, layout or sizes than are written.
bool callWithoutWriting(const Operator& functional, Stack& stack, size_t num_args) {
  const c10::OperatorHandle* handle = functional.handle();
  const at::Tensor self = stack[stack.size() - num_args].toTensor();
  if (!handle || handle->hasTag(at::Tag::nondeterministic_seeded) || !isDense(self) || self.is_conj() || self.is_neg())
    return false;
  Stack values(stack.end() - static_cast<ptrdiff_t>(num_args), stack.end());
  handle->callBoxed(&values);
  at::Tensor result = values.at(0).toTensor();
  if (result.sym_sizes() != self.sym_sizes() || result.device() != self.device() ||
      result.is_complex() != self.is_complex() || !c10::canCast(result.scalar_type(), self.scalar_type()))
    return false;
  if (result.scalar_type() != self.scalar_type()) {
    result = at::_ops::_to_copy::call(
        result, self.scalar_type(), std::nullopt, std::nullopt, std::nullopt, false, std::nullopt);
  }
  if (result.sym_strides() != self.sym_strides()) {
    if (result.requires_grad()) return false;  // the copy has no derivative
    result = at::_ops::copy::call(result.new_empty_strided_symint(self.sym_sizes(), self.sym_strides()), result, false);
  }
  stack.resize(stack.size() - num_args);
  stack.emplace_back(std::move(result));
  return true;
}

/// The form that writes nothing of an in-place reuse, where that is to be called: where modes see calls, of which some
/// take none that writes, and where it saves the copy of a tensor that is not the only one of its memory. Not where
/// autograd or functorch see the call: some in-place operators have no derivatives, and vmap refuses some. Null else.
const Operator* formWithoutWriting(const Operator& reuse, std::span<const c10::IValue> arguments) {
  const bool is_seen = c10::impl::TorchDispatchModeTLS::any_modes_set();
  const c10::IValue& self = arguments[0];
  const auto mayBeRecorded = [records = at::GradMode::is_enabled()](const c10::IValue& argument) {
    if (!argument.isTensor() || !argument.toTensor().defined()) return false;
    const at::Tensor& tensor = argument.toTensor();
    return (records && tensor.requires_grad()) || isOfFunctorch(tensor) || tensor._fw_grad(/*level=*/0).defined();
  };
  if (!is_seen && (isOwn(self.toTensor()) || std::ranges::any_of(arguments, mayBeRecorded))) return nullptr;
  const Operator* functional = OperatorTable::get().find(reuse.functionalName());
  // Kernels of complex numbers have other last bits where they write into new memory.
  const bool saves_copy = functional && functional->isPointwise() && !functional->mayShareArguments() &&
                          !self.toTensor().is_complex() &&
                          !self.toTensor().unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  return is_seen || saves_copy ? functional : nullptr;
}

}  // namespace

bool Operator::isCalledWithCare() const {
  return isInPlaceReuse() || isFunctionalCall() || argument_check_ || replacement_ ||
         std::any_of(schema_.arguments().begin(), schema_.arguments().end(), enumerationSize);
}

void Operator::call(Stack& stack, size_t num_args) const {
  if (kernel_) {
    kernel_(stack, num_args);
  } else if (writer_) {
    callOnCopies(stack, [this](Stack& copies, size_t count) { writer_->call(copies, count); });
  } else if (const c10::OperatorHandle* registered = handle()) {
    checkArguments(*this, stack.data() + (stack.size() - schema_.arguments().size()));
    if (isInPlaceReuse()) {
      const Operator* functional = formWithoutWriting(*this, std::span<const c10::IValue>(stack).last(num_args));
      if (functional && callWithoutWriting(*functional, stack, num_args)) return;
      makeOwn(stack[stack.size() - num_args]);
    }
    if (replacement_ && replacement_(stack)) return;
    registered->callBoxed(&stack);
  } else {
    throwUnregistered();
  }
}

void checkArguments(const Operator& op, c10::IValue* arguments) {
  checkEnumerations(op.schema(), arguments);
  if (const ArgumentCheck check = op.argumentCheck()) check(arguments);
}

bool isOwn(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1 &&
         !(tensor.requires_grad() && tensor.is_leaf());
}

void makeOwn(c10::IValue& value) {
  const at::Tensor& tensor = value.toTensor();
  if (!isOwn(tensor)) value = cloneInLayout(tensor);
}

bool isDense(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_nested() &&
         tensor.is_non_overlapping_and_dense();
}

at::Tensor cloneInLayout(const at::Tensor& tensor) {
  const bool is_cloned_so = tensor.layout() != at::kStrided ||
                            tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() ||
                            tensor.is_non_overlapping_and_dense() || tensor.numel() == 0 ||
                            at::has_internal_overlap(tensor) == at::MemOverlap::Yes;
  if (is_cloned_so) return tensor.clone();
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  std::vector<size_t> inner_first;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1) inner_first.push_back(i);
  std::ranges::stable_sort(inner_first, {}, [&](size_t i) { return strides[i]; });
  std::vector<int64_t> closer;
  for (const int64_t stride : strides)
    closer.push_back(std::gcd(stride, int64_t(16)));  // those of size 1 are asked, too
  int64_t run = 1, closer_run = 1;  // the strides at which a dimension goes on where those inside of it end
  for (const size_t i : inner_first) {
    // A view of another dtype asks for strides that are multiples of up to 16 elements.
    const int64_t multiple = std::gcd(strides[i], int64_t(16));
    closer[i] = strides[i] == run ? closer_run : (closer_run / multiple + 1) * multiple;
    run = strides[i] * sizes[i];
    closer_run = closer[i] * sizes[i];
  }
  return tensor.new_empty_strided(sizes, closer).copy_(tensor);
}

void Operator::throwUnregistered() const {
  throw std::runtime_error(
      "The operator " + full_name_ +
      " was registered when this code was compiled, but the library that registered it has been unloaded or destroyed "
      "since. Register it again with the same schema, or compile the program again.");
}

bool Operator::isPure() const {
  return !mutable_ && !hasSideEffects() && isDeterministic() && !has(traits_, Trait::MayShareArguments) &&
         !returnsAlias(schema_);
}

}  // namespace cresset
