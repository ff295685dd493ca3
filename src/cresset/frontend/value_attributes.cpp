// Attributes of builtin types. A field is an operator called at once (`x.shape`); a method is an operator bound to its
// receiver (`x.add`), found by asking which overloads take the receiver as `self`. So a new operator is a new method
// without a line here; the tables hold only what follows from no schema.
#include "cresset/frontend/value_attributes.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/special_forms.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

struct Field {
  std::string_view name;
  const char* op;
};

constexpr Field kTensorFields[] = {
    {"shape", "aten::size"},
    {"dtype", "prim::dtype"},
    {"device", "prim::device"},
    {"layout", "prim::layout"},
    {"grad", "prim::grad"},
    {"data", "prim::data"},
    {"requires_grad", "prim::requires_grad"},
    {"is_leaf", "aten::is_leaf"},
    {"retains_grad", "aten::retains_grad"},
    {"T", "aten::numpy_T"},
    {"H", "aten::matrix_H"},
    {"mT", "aten::mT"},
    {"mH", "aten::mH"},
    {"real", "aten::real"},
    {"imag", "aten::imag"},
    {"ndim", "aten::dim"},
    {"itemsize", "prim::itemsize"},
    {"nbytes", "prim::nbytes"},
    {"name", "prim::name"},
    {"is_cpu", "prim::is_cpu"},
    {"is_cuda", "prim::is_cuda"},
    {"is_xpu", "prim::is_xpu"},
    {"is_xla", "prim::is_xla"},
    {"is_ipu", "prim::is_ipu"},
    {"is_mps", "prim::is_mps"},
    {"is_mtia", "prim::is_mtia"},
    {"is_maia", "prim::is_maia"},
    {"is_meta", "prim::is_meta"},
    {"is_vulkan", "prim::is_vulkan"},
    {"is_mkldnn", "prim::is_mkldnn"},
    {"is_nested", "prim::is_nested"},
    {"is_sparse", "prim::is_sparse"},
    {"is_sparse_csr", "prim::is_sparse_csr"},
    {"is_quantized", "prim::is_quantized"},
};
constexpr Field kDeviceFields[] = {{"type", "prim::type"}, {"index", "prim::index"}};

/// x.float() and the like: x.to(dtype).
struct Cast {
  std::string_view name;
  c10::ScalarType dtype;
};
constexpr Cast kCasts[] = {
    {"byte", c10::ScalarType::Byte},           {"char", c10::ScalarType::Char},
    {"short", c10::ScalarType::Short},         {"int", c10::ScalarType::Int},
    {"long", c10::ScalarType::Long},           {"half", c10::ScalarType::Half},
    {"float", c10::ScalarType::Float},         {"double", c10::ScalarType::Double},
    {"bool", c10::ScalarType::Bool},           {"bfloat16", c10::ScalarType::BFloat16},
    {"cfloat", c10::ScalarType::ComplexFloat}, {"cdouble", c10::ScalarType::ComplexDouble},
};

class TensorCast : public SugaredValue {
 public:
  TensorCast(Value* self, const Cast& cast) : self_(self), cast_(cast) {}
  std::string kind() const override { return "builtin method"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    requireArgs(range, std::string(cast_.name) + "()", 0, args.size(), kwargs.size());
    Value* dtype = cx.graph.insertConstant(static_cast<int64_t>(cast_.dtype));
    const std::vector<NamedValue> named{NamedValue(dtype, range, "dtype")};
    return std::make_shared<SimpleValue>(insertOp(cx.graph, aten::to, {NamedValue(self_, range)}, named, range));
  }

 private:
  Value* self_;
  const Cast& cast_;
};

/// x.norm, whose Python form takes more than the operator: `p` has a default after which `dim` can be named, and may
/// be the name of a norm.
class NormMethod : public BuiltinFunction {
 public:
  explicit NormMethod(Value* self) : BuiltinFunction(aten::norm, NamedValue(self, {}, "self")), self_(self) {}
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    constexpr std::string_view kNames[] = {"p", "dim", "keepdim", "dtype"};
    std::array<const NamedValue*, 4> given{};
    for (size_t i = 0; i < std::min(args.size(), given.size()); ++i) given[i] = &args[i];
    for (const NamedValue& kwarg : kwargs) {
      const auto* name = std::find(std::begin(kNames), std::end(kNames), kwarg.name);
      if (name != std::end(kNames)) given[static_cast<size_t>(name - std::begin(kNames))] = &kwarg;
    }
    const auto [p, dim, keepdim, dtype] = given;
    const bool by_name = p && p->type()->kind() == c10::TypeKind::StringType;
    if (args.size() > given.size() || !(by_name || (!p && (dim || keepdim || dtype))))
      return BuiltinFunction::call(range, cx, args, kwargs, num_binders);
    std::string name = "fro";
    if (by_name) {
      const auto constant = p->value ? toIValue(p->value) : std::optional<c10::IValue>(*p->constant);
      name = constant && constant->isString() ? constant->toStringRef() : "";
    }
    if (name != "fro" && name != "nuc")
      throw UserError("the norm must be a number, \"fro\" or \"nuc\", written out", p->range ? p->range : range);
    std::vector<NamedValue> options;
    auto pass = [&](const NamedValue* value, const char* as) {
      if (value) options.emplace_back(value->get(cx.graph), range, as);
    };
    pass(dim, "dim");
    pass(keepdim, "keepdim");
    const char* op = name == "nuc" ? "aten::nuclear_norm" : "aten::linalg_vector_norm";
    if (name == "fro") pass(dtype, "dtype");
    const Symbol symbol = Symbol::fromQualString(op);
    return std::make_shared<SimpleValue>(insertOp(cx.graph, symbol, {NamedValue(self_, range)}, options, range));
  }

 private:
  Value* self_;
};

/// Whether some overload of `op` has a parameter `self` that takes a value of this type as it is.
bool takesReceiver(Symbol op, const TypePtr& type) {
  for (const Operator* overload : OperatorTable::get().overloads(op)) {
    const c10::FunctionSchema& schema = overload->schema();
    auto index = schema.argumentIndexWithName("self");
    if (!index) continue;
    const TypePtr& formal = schema.arguments()[static_cast<size_t>(*index)].type();
    c10::TypeEnv env;
    if (!c10::matchTypeVariables(formal, type, env).success()) continue;
    const TypePtr concrete = c10::tryEvalTypeVariables(formal, env);
    if (concrete && type->isSubtypeOf(*concrete)) return true;
  }
  return false;
}

template <size_t N>
const Field* find(const Field (&fields)[N], const std::string& name) {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

SugaredValuePtr readField(const SourceRange& range, EmitContext& cx, Value* value, const Field& field) {
  Value* result = insertOp(cx.graph, Symbol::fromQualString(field.op), {NamedValue(value, range)}, {}, range);
  return std::make_shared<SimpleValue>(result);
}

SugaredValuePtr enumField(
    const SourceRange& range, EmitContext& cx, Value* value, const c10::EnumType& type, const std::string& name) {
  if (name != "name" && name != "value") return nullptr;
  const bool is_name = name == "name";
  Node* node = cx.graph.create(is_name ? prim::EnumName : prim::EnumValue, {value});
  node->setSourceRange(range);
  node->output()->setType(is_name ? TypePtr(c10::StringType::get()) : type.getValueType());
  return std::make_shared<SimpleValue>(cx.graph.insertNode(node)->output());
}

/// `x.__getitem__(i)` and `x.__len__()` of what has no methods of its own.
class SpecialMethod : public SugaredValue {
 public:
  SpecialMethod(Value* self, bool item) : self_(self), item_(item) {}
  std::string kind() const override { return "method"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t) override {
    SimpleValue self(self_);
    if (!kwargs.empty() || args.size() != (item_ ? 1 : 0)) {
      throw UserError(
          item_ ? "__getitem__() expected exactly 1 argument, the index" : "__len__() takes no arguments", range);
    }
    if (!item_) return std::make_shared<SimpleValue>(self.len(range, cx));
    Value* index = args[0].get(cx.graph);
    if (!self_->type()->isSubtypeOf(*c10::TensorType::get()) || index->type()->kind() == c10::TypeKind::IntType)
      return self.getItem(range, cx, index);
    if (!index->type()->isSubtypeOf(*c10::TensorType::get()))
      throw UserError("__getitem__() of a Tensor takes an int or a Tensor; write x[…] for other indices", range);
    Node* indices = cx.graph.create(prim::ListConstruct, {index});
    indices->setSourceRange(range);
    indices->output()->setType(c10::ListType::create(c10::OptionalType::create(c10::TensorType::get())));
    cx.graph.insertNode(indices);
    return std::make_shared<SimpleValue>(insertOp(
        cx.graph, c10::Symbol::fromQualString("aten::index"),
        {NamedValue(self_, range), NamedValue(indices->output(), range)}, {}, range));
  }

 private:
  Value* self_;
  bool item_;
};

bool hasItems(const c10::Type& type) {
  return type.isSubtypeOf(*c10::TensorType::get()) || type.castRaw<c10::ListType>() || type.castRaw<c10::DictType>() ||
         type.castRaw<c10::StringType>() || type.castRaw<c10::TupleType>();
}

}  // namespace

std::vector<std::string> namesOf(const c10::ClassType& type) {
  std::vector<std::string> names;
  for (size_t i = 0; i < type.numAttributes(); ++i) names.push_back(type.getAttributeName(i));
  for (size_t i = 0; i < type.numConstants(); ++i) {
    if (!type.getConstantName(i).starts_with("__cresset")) names.push_back(type.getConstantName(i));
  }
  for (const auto* method : type.methods()) names.push_back(method->name());
  for (const auto& property : type.properties()) names.push_back(property.name);
  return names;
}

SugaredValuePtr attributeOfValue(const SourceRange& range, EmitContext& cx, Value* value, const std::string& name) {
  const TypePtr& type = value->type();
  const bool is_tensor = type->isSubtypeOf(*c10::TensorType::get());
  if (is_tensor) {
    if (const Field* field = find(kTensorFields, name)) return readField(range, cx, value, *field);
    for (const Cast& cast : kCasts) {
      if (cast.name == name) return std::make_shared<TensorCast>(value, cast);
    }
    if (name == "tolist") return std::make_shared<SpecialForm>(Form::ToList, "tolist", value);
    if (name == "norm") return std::make_shared<NormMethod>(value);
    // x.type(dtype) is x.to(dtype).
    if (name == "type") return std::make_shared<BuiltinFunction>(aten::to, NamedValue(value, range, "self"));
  } else if (type->kind() == c10::TypeKind::DeviceObjType) {
    if (const Field* field = find(kDeviceFields, name)) return readField(range, cx, value, *field);
  } else if (type->kind() == c10::TypeKind::FutureType) {
    if (name != "wait") return nullptr;
    return std::make_shared<BuiltinFunction>(aten::wait, NamedValue(value, range, "self"));
  } else if (auto enum_type = type->cast<c10::EnumType>()) {
    return enumField(range, cx, value, *enum_type, name);
  }
  const Symbol method = Symbol::aten(name);
  if (takesReceiver(method, type)) return std::make_shared<BuiltinFunction>(method, NamedValue(value, range, "self"));
  const bool item = name == "__getitem__";
  if ((item || name == "__len__") && hasItems(*type)) return std::make_shared<SpecialMethod>(value, item);
  return nullptr;
}

}  // namespace cresset
