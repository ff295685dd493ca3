// Sugared values: what an expression may mean while it is compiled, first-class value or not.
//
// A module, a type, a function, a builtin's name, `range` are no Values of a graph; they are SugaredValues that know
// how to be called, indexed, iterated or have attributes taken, and turn into nodes when that happens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ops/schema_matching.h"
#include "cresset/program/program.h"

namespace cresset {

/// The function that is being compiled: where sugared values insert their nodes.
class EmitContext {
 public:
  EmitContext(Graph& graph, Program& program, std::string function)
      : graph(graph), program(program), function(std::move(function)) {}
  virtual ~EmitContext() = default;
  Graph& graph;
  Program& program;
  std::string function;  // name, for messages
};

class SugaredValue;
using SugaredValuePtr = std::shared_ptr<SugaredValue>;

/// Every operation throws UserError, naming kind(), unless a subclass gives it a meaning.
class SugaredValue : public std::enable_shared_from_this<SugaredValue> {
 public:
  virtual ~SugaredValue() = default;
  /// What it is, for messages: "value of type 'int'", "module", "builtin function".
  virtual std::string kind() const = 0;

  /// As a value of the graph.
  virtual Value* asValue(const SourceRange& range, EmitContext& cx);
  /// As a value that only becomes part of a text: an argument of a callee that formatsArguments().
  virtual Value* asFormatted(const SourceRange& range, EmitContext& cx) { return asValue(range, cx); }
  /// Whether a call makes nothing but a text of so many arguments: `print`, `str`, `"{}".format`, exceptions of one.
  virtual bool formatsArguments(size_t /*num_args*/) const { return false; }
  /// Null if this has no such attribute.
  virtual SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name);
  /// As findAttr, but throws UserError(missingAttr(name)) instead of returning null.
  SugaredValuePtr attr(const SourceRange& range, EmitContext& cx, const std::string& name);
  virtual std::string missingAttr(const std::string& name) const;
  virtual void setAttr(const SourceRange& range, EmitContext& cx, const std::string& name, Value* value);
  /// `num_binders`: how many variables the result is unpacked to (0 for none known).
  virtual SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders);
  /// Whether a call takes its arguments as they are (`zip(range(3), xs)`) rather than as values of the graph. If so,
  /// the emitter evaluates each argument to a SugaredValue and uses callSugared.
  virtual bool takesSugared() const { return false; }
  virtual SugaredValuePtr callSugared(
      const SourceRange& range, EmitContext& cx, const std::vector<SugaredValuePtr>& args,
      const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs);
  /// As several values, for unpacking and starred arguments; `size_hint` is the number wanted.
  virtual std::vector<SugaredValuePtr> asTuple(
      const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint = {});
  virtual Value* len(const SourceRange& range, EmitContext& cx);
  virtual SugaredValuePtr getItem(
      const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint = TypePtr());
  virtual void setItem(const SourceRange& range, EmitContext& cx, Value* index, Value* value);
  virtual void delItem(const SourceRange& range, EmitContext& cx, Value* index);
  virtual bool contains(const SourceRange& range, EmitContext& cx, Value*& result, Value* element);
  /// What `for x in this` iterates over: something with len and getItem; `staticLen` if the loop must be unrolled.
  virtual SugaredValuePtr iter(const SourceRange& range, EmitContext& cx);
  virtual std::optional<size_t> staticLen() const { return std::nullopt; }
  /// If this names a type (a class, `int`, `List`): that type; null otherwise.
  virtual TypePtr asType() const { return TypePtr(); }
  /// If this names a class of modules, which is no type of scripts: whether a value of that static type is an instance
  /// of it. nullopt if this is none, or if the type does not say.
  virtual std::optional<bool> hasInstance(const c10::Type& type) const { return std::nullopt; }
};

/// A first-class value.
class SimpleValue : public SugaredValue {
 public:
  explicit SimpleValue(Value* value) : value_(value) {}
  Value* value() const { return value_; }
  std::string kind() const override;
  std::string missingAttr(const std::string& name) const override;
  Value* asValue(const SourceRange&, EmitContext&) override { return value_; }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;
  void setAttr(const SourceRange& range, EmitContext& cx, const std::string& name, Value* value) override;
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;
  std::vector<SugaredValuePtr> asTuple(
      const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint = {}) override;
  Value* len(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr getItem(
      const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint = TypePtr()) override;
  void setItem(const SourceRange& range, EmitContext& cx, Value* index, Value* value) override;
  void delItem(const SourceRange& range, EmitContext& cx, Value* index) override;
  bool contains(const SourceRange& range, EmitContext& cx, Value*& result, Value* element) override;
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override;
  std::optional<size_t> staticLen() const override;

 private:
  Value* value_;
};

/// The names of a class's attributes, methods, properties and constants, for "did you mean".
std::vector<std::string> namesOf(const c10::ClassType& type);

/// Quotients and powers of complex numbers and others have overloads for complex numbers, and ones whose type says that
/// the result is a float: makes the other operand complex.
void makeBothComplex(const SourceRange& range, Graph& graph, Symbol kind, Value*& left, Value*& right);

/// An operator by name, perhaps bound to a receiver: `torch.add`, `x.add`.
class BuiltinFunction : public SugaredValue {
 public:
  explicit BuiltinFunction(Symbol name, std::optional<NamedValue> self = std::nullopt)
      : name_(name), self_(std::move(self)) {}
  std::string kind() const override { return "builtin"; }
  std::string missingAttr(const std::string& name) const override {
    return "attribute lookup is not defined on builtin: it has no '" + name + "'";
  }
  bool formatsArguments(size_t) const override { return name_ == aten::format; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 protected:
  const Symbol name_;

 private:
  std::optional<NamedValue> self_;
};

/// One overload of an operator: `torch.ops.aten.view.dtype`.
class OverloadFunction : public SugaredValue {
 public:
  explicit OverloadFunction(const Operator& op) : op_(op) {}
  std::string kind() const override { return "builtin"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  const Operator& op_;
};

/// An operator whose overloads can be named: `torch.ops.aten.view`.
class OverloadedFunction : public BuiltinFunction {
 public:
  explicit OverloadedFunction(Symbol name) : BuiltinFunction(name) {}
  std::string missingAttr(const std::string& name) const override;
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;
};

/// A function of a Program: a call becomes prim::CallFunction.
class FunctionValue : public SugaredValue {
 public:
  explicit FunctionValue(Function* function) : function_(function) {}
  Function* function() const { return function_; }
  std::string kind() const override { return "function"; }
  Value* asValue(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  Function* function_;
};

/// A method bound to an object: a call becomes prim::CallMethod.
class MethodValue : public SugaredValue {
 public:
  MethodValue(Value* self, std::string name) : self_(self), name_(std::move(name)) {}
  std::string kind() const override { return "method"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  Value* self_;
  std::string name_;
};

/// A class, enum or named tuple by name: a call constructs, attributes are static methods and enum members.
class ClassValue : public SugaredValue {
 public:
  explicit ClassValue(TypePtr type) : type_(std::move(type)) {}
  std::string kind() const override;
  std::string missingAttr(const std::string& name) const override;
  TypePtr asType() const override { return type_; }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;
  std::vector<SugaredValuePtr> asTuple(
      const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint = {}) override;
  /// Enums: all members, in order of definition.
  Value* len(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override;

 private:
  TypePtr type_;
};

}  // namespace cresset
