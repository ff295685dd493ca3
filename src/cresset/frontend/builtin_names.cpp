// Tables of the members of builtin namespaces, and the rules that derive operators from names.
//
// Nearly every function follows a rule: a namespace has a prefix for its operators, and a name is a member if such an
// operator exists in the table of operators, so that operators which a user registers are found without a row here.
#include "cresset/frontend/builtin_names.h"

#include <ATen/core/class_type.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/QScheme.h>
#include <c10/core/ScalarType.h>
#include <torch/custom_class_detail.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <string_view>

#include "cresset/frontend/builtin_functions.h"
#include "cresset/frontend/exceptions.h"
#include "cresset/frontend/indices.h"
#include "cresset/frontend/number_limits.h"
#include "cresset/frontend/prelude.h"
#include "cresset/frontend/special_forms.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using c10::ScalarType;

struct Namespace {
  std::string_view path;
  /// What operators of this namespace are called; "" if the namespace has no rule.
  std::string_view op_prefix;
};
constexpr Namespace kNamespaces[] = {
    {"torch", "aten::"},
    {"torch._C", "aten::"},
    {"torch._C._fft", "aten::"},
    {"torch._C._linalg", "aten::"},
    {"torch._C._nested", "aten::"},
    {"torch._C._nn", "aten::"},
    {"torch._C._sparse", "aten::"},
    {"torch._C._special", "aten::"},
    {"torch._VF", "aten::"},
    {"torch.autograd", ""},
    {"torch.autograd.grad_mode", ""},
    {"torch.fft", "aten::fft_"},
    {"torch.functional", "aten::"},
    {"torch.jit", ""},
    {"torch.linalg", "aten::linalg_"},
    {"torch.nested", "aten::nested_"},
    {"torch.nn", ""},
    {"torch.nn.functional", "aten::"},
    {"torch.random", "aten::"},
    {"torch.sparse", "aten::_sparse_"},
    {"torch.special", "aten::special_"},
    {"math", ""},
    {"aten", "aten::"},
    {"prim", "prim::"},
};

struct Alias {
  std::string_view function, op;
};
/// Functions whose operator does not follow their namespace's rule.
constexpr Alias kAliases[] = {
    {"_operator.abs", "prim::abs"},
    {"_operator.add", "aten::add"},
    {"_operator.and_", "aten::__and__"},
    {"_operator.eq", "aten::eq"},
    {"_operator.floordiv", "aten::floordiv"},
    {"_operator.ge", "aten::ge"},
    {"_operator.gt", "aten::gt"},
    {"_operator.inv", "aten::bitwise_not"},
    {"_operator.invert", "aten::bitwise_not"},
    {"_operator.le", "aten::le"},
    {"_operator.lshift", "aten::__lshift__"},
    {"_operator.lt", "aten::lt"},
    {"_operator.matmul", "aten::matmul"},
    {"_operator.mod", "aten::remainder"},
    {"_operator.mul", "aten::mul"},
    {"_operator.ne", "aten::ne"},
    {"_operator.neg", "aten::neg"},
    {"_operator.or_", "aten::__or__"},
    {"_operator.pow", "aten::pow"},
    {"_operator.rshift", "aten::__rshift__"},
    {"_operator.sub", "aten::sub"},
    {"_operator.truediv", "aten::div"},
    {"_operator.xor", "aten::__xor__"},
    {"math.remainder", "aten::mathremainder"},
    {"torch._segment_reduce", "aten::segment_reduce"},
    {"torch.autograd.backward", "aten::backward"},
    {"torch.autograd.grad", "aten::grad"},
    {"torch.jit._awaitable_nowait", "prim::awaitable_nowait"},
    {"torch.jit._awaitable_wait", "prim::awaitable_wait"},
    {"torch.jit._unwrap_optional", "aten::_unwrap_optional"},
    {"torch.jit._wait", "aten::wait"},
    {"torch.jit.wait", "aten::wait"},
    {"torch.nn.functional.logsigmoid", "aten::log_sigmoid"},
    {"torch.sparse.sampled_addmm", "aten::sparse_sampled_addmm"},
    {"torch.sparse.spdiags", "aten::_spdiags"},
    {"torch.sparse.spsolve", "aten::_spsolve"},
};

/// Python's math functions that are operators of the same name.
constexpr std::string_view kMathFunctions[] = {
    "acos",    "acosh",    "asin",  "asinh", "atan",  "atan2",  "atanh",     "ceil",  "copysign", "cos",   "cosh",
    "degrees", "erf",      "erfc",  "exp",   "expm1", "fabs",   "factorial", "floor", "fmod",     "frexp", "gamma",
    "gcd",     "isfinite", "isinf", "isnan", "ldexp", "lgamma", "log",       "log10", "log1p",    "log2",  "modf",
    "pow",     "radians",  "sin",   "sinh",  "sqrt",  "tan",    "tanh",      "trunc"};

struct IntConstant {
  std::string_view name;
  int64_t value;
};
template <typename T>
constexpr int64_t code(T value) {
  return static_cast<int64_t>(value);
}
constexpr IntConstant kTorchInts[] = {
    // dtypes
    {"uint8", code(ScalarType::Byte)},
    {"int8", code(ScalarType::Char)},
    {"int16", code(ScalarType::Short)},
    {"short", code(ScalarType::Short)},
    {"int32", code(ScalarType::Int)},
    {"int", code(ScalarType::Int)},
    {"int64", code(ScalarType::Long)},
    {"long", code(ScalarType::Long)},
    {"float16", code(ScalarType::Half)},
    {"half", code(ScalarType::Half)},
    {"float32", code(ScalarType::Float)},
    {"float", code(ScalarType::Float)},
    {"float64", code(ScalarType::Double)},
    {"double", code(ScalarType::Double)},
    {"complex32", code(ScalarType::ComplexHalf)},
    {"chalf", code(ScalarType::ComplexHalf)},
    {"complex64", code(ScalarType::ComplexFloat)},
    {"cfloat", code(ScalarType::ComplexFloat)},
    {"complex128", code(ScalarType::ComplexDouble)},
    {"cdouble", code(ScalarType::ComplexDouble)},
    {"bool", code(ScalarType::Bool)},
    {"bfloat16", code(ScalarType::BFloat16)},
    {"qint8", code(ScalarType::QInt8)},
    {"quint8", code(ScalarType::QUInt8)},
    {"qint32", code(ScalarType::QInt32)},
    {"quint4x2", code(ScalarType::QUInt4x2)},
    {"quint2x4", code(ScalarType::QUInt2x4)},
    {"float8_e5m2", code(ScalarType::Float8_e5m2)},
    {"float8_e4m3fn", code(ScalarType::Float8_e4m3fn)},
    {"float8_e5m2fnuz", code(ScalarType::Float8_e5m2fnuz)},
    {"float8_e4m3fnuz", code(ScalarType::Float8_e4m3fnuz)},
    {"float8_e8m0fnu", code(ScalarType::Float8_e8m0fnu)},
    {"uint16", code(ScalarType::UInt16)},
    {"uint32", code(ScalarType::UInt32)},
    {"uint64", code(ScalarType::UInt64)},
    // layouts
    {"strided", code(c10::Layout::Strided)},
    {"sparse_coo", code(c10::Layout::Sparse)},
    {"sparse_csr", code(c10::Layout::SparseCsr)},
    {"sparse_csc", code(c10::Layout::SparseCsc)},
    {"sparse_bsr", code(c10::Layout::SparseBsr)},
    {"sparse_bsc", code(c10::Layout::SparseBsc)},
    {"jagged", code(c10::Layout::Jagged)},
    {"_mkldnn", code(c10::Layout::Mkldnn)},
    // memory formats
    {"contiguous_format", code(c10::MemoryFormat::Contiguous)},
    {"preserve_format", code(c10::MemoryFormat::Preserve)},
    {"channels_last", code(c10::MemoryFormat::ChannelsLast)},
    {"channels_last_3d", code(c10::MemoryFormat::ChannelsLast3d)},
    // quantization schemes
    {"per_tensor_affine", code(c10::kPerTensorAffine)},
    {"per_channel_affine", code(c10::kPerChannelAffine)},
    {"per_tensor_symmetric", code(c10::kPerTensorSymmetric)},
    {"per_channel_symmetric", code(c10::kPerChannelSymmetric)},
    {"per_channel_affine_float_qparams", code(c10::kPerChannelAffineFloatQParams)},
};

struct FloatConstant {
  std::string_view name;
  double value;
};
constexpr FloatConstant kFloats[] = {
    {"math.e", std::numbers::e},
    {"math.inf", std::numeric_limits<double>::infinity()},
    {"math.nan", std::numeric_limits<double>::quiet_NaN()},
    {"math.pi", std::numbers::pi},
    {"math.tau", 2 * std::numbers::pi},
    {"torch.e", std::numbers::e},
    {"torch.inf", std::numeric_limits<double>::infinity()},
    {"torch.nan", std::numeric_limits<double>::quiet_NaN()},
    {"torch.pi", std::numbers::pi},
};

struct FormName {
  std::string_view name;
  Form form;
};
constexpr FormName kForms[] = {
    {"annotate", Form::Annotate},
    {"torch.jit.annotate", Form::Annotate},
    {"uninitialized", Form::Uninitialized},
    {"unchecked_cast", Form::UncheckedCast},
    {"isinstance", Form::IsInstance},
    {"torch.jit.isinstance", Form::IsInstance},
    {"fork", Form::Fork},
    {"torch.jit.fork", Form::Fork},
    {"torch.jit._fork", Form::Fork},
    {"awaitable", Form::Awaitable},
    {"torch.jit._awaitable", Form::Awaitable},
    {"hasattr", Form::HasAttr},
    {"getattr", Form::GetAttr},
    {"list", Form::List},
    {"dict", Form::Dict},
    {"tuple", Form::Tuple},
    {"type", Form::TypeOf},
    {"super", Form::Super},
    {"torch._check", Form::Check},
    {"torch.jit.is_scripting", Form::IsScripting},
    {"torch.jit.is_tracing", Form::IsTracing},
    {"torch.FloatTensor", Form::LegacyTensor},
    {"torch.DoubleTensor", Form::LegacyTensor},
    {"torch.HalfTensor", Form::LegacyTensor},
    {"torch.BFloat16Tensor", Form::LegacyTensor},
    {"torch.ByteTensor", Form::LegacyTensor},
    {"torch.CharTensor", Form::LegacyTensor},
    {"torch.ShortTensor", Form::LegacyTensor},
    {"torch.IntTensor", Form::LegacyTensor},
    {"torch.LongTensor", Form::LegacyTensor},
    {"torch.BoolTensor", Form::LegacyTensor},
};

/// Builtin functions that are one operator, whatever their arguments.
constexpr Alias kFunctions[] = {
    {"abs", "prim::abs"},     {"min", "prim::min"},
    {"max", "prim::max"},     {"sum", "aten::sum"},
    {"round", "aten::round"}, {"sorted", "aten::sorted"},
    {"ord", "aten::ord"},     {"chr", "aten::chr"},
    {"hex", "aten::hex"},     {"oct", "aten::oct"},
    {"bin", "aten::bin"},     {"divmod", "aten::divmod"},
    {"all", "aten::all"},     {"any", "aten::any"},
    {"hash", "aten::hash"},   {"pow", "aten::pow"},
    {"id", "prim::id"},       {"rangelist", "prim::rangelist"},
    {"wait", "aten::wait"},   {"_to_tensor", "prim::NumToTensor"},
};

template <typename Table>
auto find(const Table& table, std::string_view name, auto member) {
  auto it = std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.*member == name; });
  return it == std::end(table) ? nullptr : &*it;
}

SugaredValuePtr constant(EmitContext& cx, const c10::IValue& value) {
  return std::make_shared<SimpleValue>(cx.graph.insertConstant(value));
}

SugaredValuePtr operatorIfAny(const std::string& name) {
  if (name.empty()) return nullptr;
  const Symbol symbol = Symbol::fromQualString(name);
  return symbol == aten::wait || isBuiltin(symbol) ? std::make_shared<BuiltinFunction>(symbol) : nullptr;
}

SugaredValuePtr findForm(const std::string& full_name) {
  auto* row = find(kForms, full_name, &FormName::name);
  return row ? std::make_shared<SpecialForm>(row->form, full_name) : nullptr;
}

std::string suggest(const std::string& op, const std::string& op_prefix) {
  std::string text;
  size_t count = 0;
  for (const std::string& similar : OperatorTable::get().similarNames(Symbol::fromQualString(op))) {
    if (!similar.starts_with(op_prefix) || count++ == 3) continue;
    text += (text.empty() ? "; did you mean '" : ", '") + similar.substr(op_prefix.size()) + "'";
    if (count == 3) break;
  }
  return text.empty() ? text : text + "?";
}

/// `ops.ns` and `torch.ops.ns`: every operator of a namespace, the users' own too.
class OpNamespace : public SugaredValue {
 public:
  explicit OpNamespace(std::string ns) : ns_(std::move(ns)) {}
  std::string kind() const override { return "namespace 'torch.ops." + ns_ + "'"; }
  std::string missingAttr(const std::string& name) const override {
    return "there is no operator '" + ns_ + "::" + name + "'; is the library that registers it loaded?";
  }
  SugaredValuePtr findAttr(const SourceRange&, EmitContext&, const std::string& name) override {
    const Symbol symbol = Symbol::fromQualString(ns_ + "::" + name);
    if (isBuiltin(symbol)) return std::make_shared<OverloadedFunction>(symbol);
    return operatorIfAny(ns_ + "::" + name);
  }

 private:
  std::string ns_;
};

class OpsRoot : public SugaredValue {
 public:
  std::string kind() const override { return "module 'torch.ops'"; }
  SugaredValuePtr findAttr(const SourceRange&, EmitContext&, const std::string& name) override {
    return std::make_shared<OpNamespace>(name);
  }
};

/// `torch.classes.ns.Name`: C++ classes that a library registered.
class ClassNamespace : public SugaredValue {
 public:
  explicit ClassNamespace(std::string path) : path_(std::move(path)) {}
  std::string kind() const override { return "module '" + path_ + "'"; }
  std::string missingAttr(const std::string& name) const override {
    return "there is no C++ class '" + path_ + "." + name + "'; is the library that registers it loaded?";
  }
  SugaredValuePtr findAttr(const SourceRange&, EmitContext&, const std::string& name) override {
    if (path_ == "torch.classes") return std::make_shared<ClassNamespace>(path_ + "." + name);
    c10::ClassTypePtr type = torch::getCustomClass("__torch__." + path_ + "." + name);
    return type ? std::make_shared<ClassValue>(std::move(type)) : nullptr;
  }

 private:
  std::string path_;
};

/// torch.chalf is a dtype, and in archives an operator too.
class ConstantAndOperator : public SimpleValue {
 public:
  ConstantAndOperator(Value* value, SugaredValuePtr op) : SimpleValue(value), op_(std::move(op)) {}
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    return op_->call(range, cx, args, kwargs, num_binders);
  }

 private:
  SugaredValuePtr op_;
};

SugaredValuePtr torchMember(EmitContext& cx, const std::string& name) {
  if (auto* row = find(kTorchInts, name, &IntConstant::name)) {
    Value* value = cx.graph.insertConstant(row->value);
    if (auto op = operatorIfAny("aten::" + name)) return std::make_shared<ConstantAndOperator>(value, std::move(op));
    return std::make_shared<SimpleValue>(value);
  }
  if (name == "device") return std::make_shared<DeviceFunction>();
  if (name == "Tensor") return std::make_shared<TypeValue>("torch.Tensor", c10::TensorType::get(), "");
  if (name == "Generator")
    return std::make_shared<TypeValue>("torch.Generator", c10::GeneratorType::get(), "aten::Generator");
  if (name == "Stream") return std::make_shared<TypeValue>("torch.Stream", c10::StreamObjType::get(), "");
  if (name == "Size") return std::make_shared<TypeValue>("torch.Size", c10::ListType::ofInts(), "aten::Size");
  if (name == "ops") return std::make_shared<OpsRoot>();
  if (name == "classes") return std::make_shared<ClassNamespace>("torch.classes");
  if (name == "finfo" || name == "iinfo") return limitsFunction(name == "finfo");
  if (name == "newaxis") return constant(cx, c10::IValue());
  if (name == "__version__") return constant(cx, c10::IValue(std::string(TORCH_VERSION)));
  return nullptr;
}

}  // namespace

std::string operatorOfFunction(const std::string& module, const std::string& name) {
  if (auto* alias = find(kAliases, module + "." + name, &Alias::function)) return std::string(alias->op);
  if (module == "math") {
    const bool known =
        std::find(std::begin(kMathFunctions), std::end(kMathFunctions), name) != std::end(kMathFunctions);
    return known ? "aten::" + name : "";
  }
  auto* ns = find(kNamespaces, module, &Namespace::path);
  return ns && !ns->op_prefix.empty() ? std::string(ns->op_prefix) + name : "";
}

bool isOperatorOfTorch(const std::string& name) {
  static constexpr std::string_view kTypes[] = {"device",  "Tensor",  "Generator",   "Stream", "Size", "ops",
                                                "classes", "newaxis", "__version__", "finfo",  "iinfo"};
  const std::string full_name = "torch." + name;
  return std::find(std::begin(kTypes), std::end(kTypes), name) == std::end(kTypes) &&
         !find(kTorchInts, name, &IntConstant::name) && !find(kFloats, full_name, &FloatConstant::name) &&
         !find(kForms, full_name, &FormName::name) && !find(kNamespaces, full_name, &Namespace::path) &&
         !find(kAliases, full_name, &Alias::function) && !isPreludeMember(full_name);
}

SugaredValuePtr BuiltinModule::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  const std::string full_name = path_ + "." + name;
  if (path_ == "torch" || path_ == "torch._C") {
    if (auto member = torchMember(cx, name)) return member;
  }
  if (auto* row = find(kFloats, full_name, &FloatConstant::name)) return constant(cx, row->value);
  if (auto form = findForm(full_name)) return form;
  if (find(kNamespaces, full_name, &Namespace::path)) return std::make_shared<BuiltinModule>(full_name);
  if (auto defined = preludeMember(full_name, range, cx)) return defined;
  return operatorIfAny(operatorOfFunction(path_, name));
}

std::string BuiltinModule::missingAttr(const std::string& name) const {
  std::string message =
      "object has no attribute " + name + ": '" + path_ + "' has no operator or function of that name";
  if (path_ == "torch.nn") return message + "; modules can't be made while a script runs";
  if (auto* ns = find(kNamespaces, path_, &Namespace::path); ns && !ns->op_prefix.empty()) {
    const std::string prefix(ns->op_prefix);
    message += suggest(prefix + name, prefix);
  }
  return message;
}

SugaredValuePtr builtinGlobal(const std::string& name, const SourceRange& range, EmitContext& cx) {
  using Kind = IterableFunction::Kind;
  if (name == "torch" || name == "math" || name == "aten" || name == "prim")
    return std::make_shared<BuiltinModule>(name);
  if (name == "ops") return std::make_shared<OpsRoot>();
  static constexpr std::pair<std::string_view, Kind> kIterables[] = {
      {"range", Kind::Range}, {"enumerate", Kind::Enumerate}, {"zip", Kind::Zip},  {"reversed", Kind::Reversed},
      {"len", Kind::Len},     {"iter", Kind::Iter},           {"next", Kind::Next}};
  for (const auto& [known, kind] : kIterables) {
    if (known == name) return std::make_shared<IterableFunction>(kind, name);
  }
  if (auto form = findForm(name)) return form;
  if (auto cast = castFunction(name)) return cast;
  if (name == "print") return std::make_shared<PrintFunction>();
  if (name == "slice") return std::make_shared<SliceFunction>();
  if (name == "Ellipsis") return std::make_shared<EllipsisValue>();
  if (auto* row = find(kFunctions, name, &Alias::function))
    return std::make_shared<OperatorFunction>(name, std::string(row->op));
  if (auto exception = builtinException(name)) return exception;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (name == "inf") return constant(cx, kInf);
  if (name == "nan") return constant(cx, kNan);
  if (name == "infj") return constant(cx, c10::complex<double>(0, kInf));
  if (name == "nanj") return constant(cx, c10::complex<double>(0, kNan));
  return nullptr;
}

}  // namespace cresset
