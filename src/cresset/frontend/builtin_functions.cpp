// Conversions keep a value that has the type already, so `int(i)` costs nothing; objects convert by their special
// methods.
#include "cresset/frontend/builtin_functions.h"

#include <ATen/core/class_type.h>

#include <string_view>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/iterables.h"
#include "cresset/ir/constants.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

SugaredValuePtr simple(Value* value) {
  return std::make_shared<SimpleValue>(value);
}

/// The special method `__name__` of a class or interface value; null if it has none.
SugaredValuePtr specialMethod(
    const SourceRange& range, EmitContext& cx, const NamedValue& self, const std::string& name) {
  if (!self.value) return nullptr;
  const TypePtr& type = self.value->type();
  const std::string method = "__" + name + "__";
  if (auto cls = type->cast<c10::ClassType>(); cls && cls->findMethod(method)) {
    return std::make_shared<MethodValue>(self.value, method);
  }
  if (auto interface = type->cast<c10::InterfaceType>(); interface && interface->getMethod(method)) {
    return std::make_shared<MethodValue>(self.value, method);
  }
  return nullptr;
}

bool readConstant(const NamedValue& arg, c10::IValue& out) {
  if (!arg.value) {
    c10::IValue(*arg.constant).swap(out);
    return true;
  }
  auto known = toIValue(arg.value);
  if (known) out.swap(*known);
  return known.has_value();
}

class CastFunction : public SugaredValue {
 public:
  CastFunction(std::string name, TypePtr type, const char* op)
      : name_(std::move(name)), type_(std::move(type)), op_(op) {}
  std::string kind() const override { return "type '" + name_ + "'"; }
  TypePtr asType() const override { return type_; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    if (args.empty() && kwargs.empty()) return simple(cx.graph.insertConstant(zero()));
    if (args.size() == 1 && kwargs.empty()) {
      if (auto method = specialMethod(range, cx, args[0], name_)) return method->call(range, cx, {}, {}, num_binders);
      Value* value = args[0].get(cx.graph);
      if (value->type()->isSubtypeOf(*type_)) return simple(value);
      if (auto cls = value->type()->cast<c10::ClassType>(); cls && cls->is_module()) {
        throw UserError("a module can't be converted to " + name_ + " in a script", range);
      }
      if (type_->kind() == c10::TypeKind::BoolType && hasLength(*value->type())) {
        Value* length = insertOp(cx.graph, aten::len, {NamedValue(value, range)}, {}, range);
        const NamedValue zero(cx.graph.insertConstant(static_cast<int64_t>(0)), range);
        return simple(insertOp(cx.graph, aten::gt, {NamedValue(length, range), zero}, {}, range));
      }
    }
    return simple(insertOp(cx.graph, Symbol::fromQualString(op_), args, kwargs, range));
  }
  bool formatsArguments(size_t) const override { return type_->kind() == c10::TypeKind::StringType; }

 private:
  /// Whether values of the type are true if they are not empty.
  static bool hasLength(const c10::Type& type) {
    return type.kind() == c10::TypeKind::StringType || type.kind() == c10::TypeKind::ListType ||
           type.kind() == c10::TypeKind::DictType;
  }
  c10::IValue zero() const {
    switch (type_->kind()) {
      case c10::TypeKind::IntType:
        return static_cast<int64_t>(0);
      case c10::TypeKind::FloatType:
        return 0.0;
      case c10::TypeKind::BoolType:
        return false;
      case c10::TypeKind::ComplexType:
        return c10::complex<double>(0, 0);
      default:
        return std::string();
    }
  }
  std::string name_;
  TypePtr type_;
  const char* op_;
};

}  // namespace

SugaredValuePtr castFunction(const std::string& name) {
  if (name == "int") return std::make_shared<CastFunction>(name, c10::IntType::get(), "aten::Int");
  if (name == "float") return std::make_shared<CastFunction>(name, c10::FloatType::get(), "aten::Float");
  if (name == "bool") return std::make_shared<CastFunction>(name, c10::BoolType::get(), "aten::Bool");
  if (name == "complex") return std::make_shared<CastFunction>(name, c10::ComplexType::get(), "aten::Complex");
  if (name == "str") return std::make_shared<CastFunction>(name, c10::StringType::get(), "aten::str");
  return nullptr;
}

SugaredValuePtr OperatorFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  if (!args.empty()) {
    if (auto method = specialMethod(range, cx, args[0], name_)) {
      return method->call(range, cx, {args.begin() + 1, args.end()}, kwargs, num_binders);
    }
  }
  return resultFor(insertOp(cx.graph, Symbol::fromQualString(op_), args, kwargs, range), num_binders);
}

SugaredValuePtr PrintFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  if (!kwargs.empty()) throw UserError("print doesn't accept any keyword arguments", range);
  std::vector<Value*> values;
  for (const NamedValue& arg : args) values.push_back(arg.get(cx.graph));
  Node* node = cx.graph.create(prim::Print, values, 0);
  node->setSourceRange(range);
  cx.graph.insertNode(node);
  return simple(cx.graph.insertConstant(c10::IValue()));
}

SugaredValuePtr DeviceFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  // torch.device(type='cpu', index=0): the operators have other names for them.
  const auto named = [&](const char* name) {
    return std::find_if(kwargs.begin(), kwargs.end(), [&](const NamedValue& kwarg) { return kwarg.name == name; });
  };
  if (!kwargs.empty() && args.size() + kwargs.size() <= 2) {
    std::vector<NamedValue> ordered = args;
    for (const char* name : {"type", "index"}) {
      const bool next = ordered.size() == (name == std::string_view("type") ? 0u : 1u);
      if (auto kwarg = named(name); kwarg != kwargs.end() && next) {
        ordered.push_back(*kwarg);
        ordered.back().name.clear();
      }
    }
    if (ordered.size() == args.size() + kwargs.size()) return call(range, cx, ordered, {}, num_binders);
  }
  if (!args.empty() && args.size() <= 2 && kwargs.empty()) {
    c10::IValue type, index;
    const bool constant = readConstant(args[0], type) && (args.size() == 1 || readConstant(args[1], index));
    if (constant && type.isString() && (index.isNone() || index.isInt())) {
      try {
        c10::Device device(type.toStringRef());
        if (index.isInt()) {
          if (device.has_index())
            throw UserError("device type must not include an index when an index is given", range);
          device.set_index(static_cast<c10::DeviceIndex>(index.toInt()));
        }
        return simple(cx.graph.insertConstant(c10::IValue(device)));
      } catch (const Error&) {
        throw;
      } catch (const c10::Error& error) {
        throw UserError(error.what_without_backtrace(), range);
      }
    }
    if (args.size() == 1 && args[0].type()->kind() == c10::TypeKind::DeviceObjType)
      return simple(args[0].get(cx.graph));
  }
  return simple(insertOp(cx.graph, Symbol::fromQualString("aten::device"), args, kwargs, range));
}

SugaredValuePtr TypeValue::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  // `torch.Tensor.add` is the operator with an explicit receiver.
  if (type_->kind() != c10::TypeKind::TensorType) return nullptr;
  const Symbol op = Symbol::aten(name);
  return isBuiltin(op) ? std::make_shared<BuiltinFunction>(op) : nullptr;
}

SugaredValuePtr TypeValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  if (op_.empty())
    throw UserError("'" + name_ + "' can't be called in a script; use torch.tensor or torch.empty", range);
  return simple(insertOp(cx.graph, Symbol::fromQualString(op_), args, kwargs, range));
}

}  // namespace cresset
