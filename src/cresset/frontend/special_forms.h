// Names that the emitter itself gives meaning to when they are called, because their arguments are types, are compiled
// in a special way, or decide how code is generated.
#pragma once

#include "cresset/frontend/sugared_value.h"

namespace cresset {

enum class Form {
  Annotate,       // annotate(T, e), torch.jit.annotate
  Uninitialized,  // uninitialized(T)
  UncheckedCast,  // unchecked_cast(T, e)
  IsInstance,     // isinstance(e, T), isinstance(e, (T1, T2)), torch.jit.isinstance
  Fork,           // fork(f, …), torch.jit.fork, torch.jit._fork
  Awaitable,      // torch.jit._awaitable
  HasAttr,        // hasattr(e, "name")
  GetAttr,        // getattr(e, "name"), getattr(e, "name", default)
  List,           // list(iterable), list()
  Dict,           // dict(…)
  Tuple,          // tuple(iterable)
  TypeOf,         // type(e), within a text; else an error that suggests isinstance
  Super,          // super(): an error
  IsScripting,    // torch.jit.is_scripting(): the constant True; likewise is_tracing False through IsTracing
  IsTracing,
  Check,         // torch._check(condition, message)
  LegacyTensor,  // torch.FloatTensor(…) and friends
  ToList,        // x.tolist(), whose type is that of the annotation around it: see emitToList
};

class SpecialForm : public SugaredValue {
 public:
  SpecialForm(Form form, std::string name, Value* receiver = nullptr)
      : form_(form), name_(std::move(name)), receiver_(receiver) {}
  Form form() const { return form_; }
  const std::string& name() const { return name_; }
  /// The value that the form is a method of (ToList).
  Value* receiver() const { return receiver_; }
  std::string kind() const override { return name_; }
  TypePtr asType() const override;  // `list`, `dict`, `tuple` in isinstance name types without parameters

 private:
  Form form_;
  std::string name_;
  Value* receiver_;
};

/// `type(e)`, of a value of this static type: a text of it, or its name. Of anything else it is an error.
class TypeOfValue : public SugaredValue {
 public:
  explicit TypeOfValue(TypePtr type) : type_(std::move(type)) {}
  std::string kind() const override { return "type()"; }
  Value* asValue(const SourceRange& range, EmitContext& cx) override;
  /// "<class 'torch.Tensor'>"
  Value* asFormatted(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;

 private:
  /// "torch.Tensor", as Python names the class.
  std::string className(const SourceRange& range) const;

  TypePtr type_;
};

/// `receiver.tolist()` as `type_hint`: int, float, bool or complex, or lists of them. Null is an error that asks for an
/// annotation.
Value* emitToList(const SourceRange& range, EmitContext& cx, Value* receiver, const TypePtr& type_hint);
/// The dtype (as torch.jit's int constant) of a legacy constructor, "torch.FloatTensor".
int64_t legacyTensorDtype(const std::string& name);

}  // namespace cresset
