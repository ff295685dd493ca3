// Names that the emitter itself gives meaning to when they are called, because their arguments are types, are compiled
// in a special way, or decide how code is generated.
#pragma once

#include "cresset/frontend/sugared_value.h"

namespace cresset {

enum class Form {
  Annotate, // annotate(T, e), torch.jit.annotate
  Uninitialized, // uninitialized(T)
  UncheckedCast, // unchecked_cast(T, e)
  IsInstance, // isinstance(e, T), isinstance(e, (T1, T2)), torch.jit.isinstance
  Fork, // fork(f, …), torch.jit.fork, torch.jit._fork
  Awaitable, // torch.jit._awaitable
  HasAttr, // hasattr(e, "name")
  GetAttr, // getattr(e, "name"), getattr(e, "name", default)
  List, // list(iterable), list()
  Dict, // dict(…)
  Tuple, // tuple(iterable)
  TypeOf, // type(e): an error that suggests isinstance
  Super, // super(): an error
  IsScripting, // torch.jit.is_scripting(): the constant True; likewise is_tracing False through IsTracing
  IsTracing,
  LegacyTensor, // torch.FloatTensor(…) and friends
};

class SpecialForm : public SugaredValue {
 public:
  SpecialForm(Form form, std::string name) : form_(form), name_(std::move(name)) {}
  Form form() const { return form_; }
  const std::string& name() const { return name_; }
  std::string kind() const override { return name_; }
  TypePtr asType() const override; // `list`, `dict`, `tuple` in isinstance name types without parameters

 private:
  Form form_;
  std::string name_;
};

} // namespace cresset
