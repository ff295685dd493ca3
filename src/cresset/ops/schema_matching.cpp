// Schema-matched insertion; see schema_matching.h.
//
// Matching runs in two steps so that an overload that does not fit leaves nothing behind: a plan is made from types
// alone, one Slot per schema argument; only the plan of the overload that won inserts nodes. Reasons for a refusal are
// put into words in a second run, when every overload has failed: matching `x + y` visits up to 16 overloads, and
// formatting their complaints would cost more than compiling the rest of the statement.
#include "cresset/ops/schema_matching.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/detach_ops.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/ops/composites.h"
#include "cresset/ops/implicit_conversions.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"
#include "cresset/support/suggest.h"

namespace cresset {

NamedValue::NamedValue(const c10::IValue& constant, SourceRange range, std::string name)
    : name(std::move(name)), range(std::move(range)), constant(std::make_shared<const c10::IValue>(constant)) {}

Value* NamedValue::get(Graph& graph) const {
  if (value) return value;
  Value* inserted = graph.insertConstant(*constant);
  if (range) inserted->node()->setSourceRange(range);
  return inserted;
}

TypePtr NamedValue::type() const {
  return value ? value->type() : constant->type();
}

namespace {

/// A type for a message that may list many.
std::string shortened(std::string type) {
  constexpr size_t kMaxLength = 400;
  if (type.size() > kMaxLength) type = type.substr(0, kMaxLength) + "…";
  return type;
}

/// What one schema argument gets.
struct Slot {
  const NamedValue* from = nullptr;
  const c10::Argument* defaulted = nullptr;  // the default value of this argument, if `from` is null
  Conversion conversion;
  bool repeat = false;  // first of all, a list of `repeat_count` times the value
  size_t repeat_count = 0;
  TypePtr repeat_element;
  bool is_varargs = false;  // a list of `varargs`
  TypePtr varargs_element;
  std::vector<Slot> varargs;
};

struct Plan {
  std::vector<Slot> slots;
  std::vector<const NamedValue*> rest;  // arguments beyond the schema's, for variadic schemas
  std::vector<TypePtr> return_types;
};

/// Plans one schema. A failed one appends its reason to `*why`, if there is one.
class Planner {
 public:
  /// `keep_bools`: bools stay bools where any number is taken, as in Python; else they become ints.
  Planner(const c10::FunctionSchema& schema, std::string* why, bool allow_conversions, bool keep_bools = false)
      : schema_(schema), why_(why), allow_conversions_(allow_conversions), keep_bools_(keep_bools) {}

  bool run(
      const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs, const NamedValue* self, Plan& plan);

 private:
  template <typename... Parts>
  bool refuse(const Parts&... parts) {
    if (why_) {
      std::ostringstream out;
      out << "\n" << schema_ << ":\n";
      (out << ... << parts);
      *why_ += out.str();
    }
    return false;
  }

  bool matchArgument(const c10::Argument& arg, const NamedValue& actual, Slot& slot);
  bool takesVarargs(size_t index) const;
  const NamedValue* findKeyword(const c10::Argument& arg, const std::vector<NamedValue>& kwargs, size_t& index) const;
  /// Of keyword arguments, so that many of them in another order than the schema's take no quadratic time.
  std::unordered_map<std::string_view, size_t> keyword_index_;
  static constexpr size_t kManyKeywords = 16;
  bool fillReturns(Plan& plan);
  /// A keyword argument that the schema lacks, if its name is like one that it has.
  std::string misspelled(const std::vector<NamedValue>& kwargs) const;
  /// Of how many keyword arguments it is asked what they might mean.
  static constexpr size_t kMaxSuggestions = 16;
  std::string mismatch(const c10::Argument& arg, const TypePtr& found, const std::string& reason) const;

  const c10::FunctionSchema& schema_;
  std::string* why_;
  bool allow_conversions_, keep_bools_;
  c10::TypeEnv type_env_;
};

std::string Planner::misspelled(const std::vector<NamedValue>& kwargs) const {
  for (size_t i = 0; i < std::min(kwargs.size(), kMaxSuggestions); ++i) {
    const NamedValue& kwarg = kwargs[i];
    if (schema_.argumentIndexWithName(kwarg.name)) continue;
    const std::string similar = similarArgument(schema_, kwarg.name);
    if (!similar.empty()) return " Keyword argument " + kwarg.name + " unknown" + similar;
  }
  return "";
}

std::string Planner::mismatch(const c10::Argument& arg, const TypePtr& found, const std::string& reason) const {
  std::string message = arg.formatTypeMismatchMsg(shortened(found->repr_str()));
  if (auto tensor = found->castRaw<c10::TensorType>(); tensor && tensor->isInferredType()) {
    message += "Inferred the value for argument '" + arg.name() +
               "' to be of type 'Tensor' because it was not annotated with an explicit type.\n";
  }
  if (auto list = found->castRaw<c10::ListType>();
      list && list->getElementType()->isSubtypeOf(*c10::TensorType::get())) {
    message +=
        "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty "
        "list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for "
        "Python 2)\n";
  }
  return message + reason;
}

bool Planner::matchArgument(const c10::Argument& arg, const NamedValue& actual, Slot& slot) {
  slot.from = &actual;
  TypePtr type = actual.type();
  const TypePtr& formal = arg.type();

  // A number where the schema says int[2] or float[2] stands for that many of it.
  if (arg.N() && (type->kind() == c10::TypeKind::IntType || type->kind() == c10::TypeKind::FloatType)) {
    auto list = withoutOptional(formal);
    if (auto list_type = list->castRaw<c10::ListType>(); list_type && *list_type->getElementType() == *type) {
      slot.repeat = true;
      slot.repeat_count = static_cast<size_t>(*arg.N());
      slot.repeat_element = type;
      type = c10::ListType::create(type);
    }
  }

  const bool literal = isEmptyListLiteral(actual.value);
  TypePtr wanted = formal;
  // `rows.append([])`: the arguments before it say what the list holds.
  TypePtr known = literal && formal->hasFreeVariables() ? c10::tryEvalTypeVariables(formal, type_env_) : TypePtr();
  if (known && known->kind() == c10::TypeKind::ListType) {
    wanted = known;
  } else if (formal->hasFreeVariables()) {
    auto matched = c10::matchTypeVariables(formal, type, type_env_);
    if (!matched.success()) {
      return refuse(
          "Could not match type ", shortened(type->repr_str()), " to ", formal->repr_str(), " in argument '",
          arg.name(), "': ", matched.reason(), ".\n");
    }
    wanted = c10::tryEvalTypeVariables(formal, type_env_);
    if (!wanted) {
      return refuse(
          "Type variables in type ", formal->repr_str(), " could not be inferred from actual type ",
          shortened(type->repr_str()), "\n");
    }
  }

  if (!literal && type == wanted) return true;
  if (keep_bools_ && isBoolForNumber(*type, *wanted)) return true;
  slot.conversion = planConversion(type, wanted, literal, allow_conversions_);
  const TypePtr& converted = slot.conversion.type ? slot.conversion.type : type;
  if (!why_) return converted->isSubtypeOf(*wanted);
  std::ostringstream reason;
  if (converted->isSubtypeOfExt(*wanted, &reason)) return true;
  return refuse(mismatch(arg, converted, reason.str()));
}

/// Whether all remaining positional arguments may form the list that this argument is: `x.view(2, 3)`.
bool Planner::takesVarargs(size_t index) const {
  const auto& arguments = schema_.arguments();
  const auto& arg = arguments[index];
  bool last = index + 1 == arguments.size() || arguments[index + 1].kwarg_only();
  if (!last || arg.N()) return false;
  auto list = arg.type()->castRaw<c10::ListType>();
  return list && list->getElementType()->kind() != c10::TypeKind::VarType;
}

const NamedValue* Planner::findKeyword(
    const c10::Argument& arg, const std::vector<NamedValue>& kwargs, size_t& index) const {
  // Python calls the first argument of functions `input` where the schema calls it `self`.
  bool is_self = arg.name() == "self" && schema_.name().starts_with("aten::");
  if (kwargs.size() > kManyKeywords) {
    auto found = keyword_index_.find(arg.name());
    if (found == keyword_index_.end() && is_self) found = keyword_index_.find("input");
    if (found == keyword_index_.end()) return nullptr;
    index = found->second;
    return &kwargs[index];
  }
  for (index = 0; index < kwargs.size(); ++index) {
    if (kwargs[index].name == arg.name() || (is_self && kwargs[index].name == "input")) return &kwargs[index];
  }
  return nullptr;
}

bool Planner::fillReturns(Plan& plan) {
  for (const auto& result : schema_.returns()) {
    const TypePtr& type = result.type();
    TypePtr filled = type->hasFreeVariables() ? c10::tryEvalTypeVariables(type, type_env_) : type;
    if (!filled) return refuse("Type variables in the result type ", type->repr_str(), " could not be inferred\n");
    plan.return_types.push_back(std::move(filled));
  }
  return true;
}

/// Whether it is, or holds, what a default of None becomes where a Tensor is declared: no program has such a constant.
bool holdsNoTensor(const c10::IValue& value) {
  if (value.isTensor()) return !value.toTensor().defined();
  if (!value.isTuple()) return false;
  const auto& elements = value.toTupleRef().elements();
  return std::any_of(elements.begin(), elements.end(), [](const c10::IValue& each) { return holdsNoTensor(each); });
}

bool Planner::run(
    const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs, const NamedValue* self, Plan& plan) {
  checkTimeLimit();
  const auto& arguments = schema_.arguments();
  if (!why_ && kwargs.size() > arguments.size()) return false;  // each takes one of its own
  std::vector<bool> used_keywords(kwargs.size(), false);
  if (kwargs.size() > kManyKeywords) {
    for (size_t i = 0; i < kwargs.size(); ++i) keyword_index_.emplace(kwargs[i].name, i);
  }
  size_t used = 0;
  size_t self_index = 0;
  if (self) {
    auto named = schema_.argumentIndexWithName("self");
    self_index = named ? static_cast<size_t>(*named) : 0;
  }
  plan.slots.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& arg = arguments[i];
    Slot& slot = plan.slots.emplace_back();
    size_t keyword = 0;
    if (self && i == self_index) {
      if (!matchArgument(arg, *self, slot)) return false;
      self = nullptr;
    } else if (!arg.kwarg_only() && used < args.size()) {
      if (allow_conversions_ && takesVarargs(i)) {
        TypePtr first = args[used].type();
        auto list = withoutOptional(arg.type());
        if (first->kind() != c10::TypeKind::ListType && !isConvertibleToList(*first, *list)) {
          slot.is_varargs = true;
          slot.varargs_element = list->expectRef<c10::ListType>().getElementType();
          c10::Argument element("<varargs>", slot.varargs_element);
          for (; used < args.size(); ++used) {
            if (!matchArgument(element, args[used], slot.varargs.emplace_back())) return false;
          }
          continue;
        }
      }
      if (!matchArgument(arg, args[used++], slot)) return false;
    } else if (const NamedValue* named = findKeyword(arg, kwargs, keyword)) {
      if (used_keywords[keyword]) return refuse("Argument ", named->name, " specified twice in schema\n");
      used_keywords[keyword] = true;
      if (!matchArgument(arg, *named, slot)) return false;
    } else if (arg.default_value()) {
      if (holdsNoTensor(*arg.default_value())) {
        return refuse(
            "Argument ", arg.name(), " not provided. Its default is None, which is no ", arg.type()->annotation_str(),
            ": pass it, or annotate it with Optional.\n");
      }
      slot.defaulted = &arg;
      // A default of None or 0 fits by construction, but a default that decides a type variable must be matched.
      if (arg.type()->hasFreeVariables()) c10::matchTypeVariables(arg.type(), arg.default_value()->type(), type_env_);
    } else {
      return refuse("Argument ", arg.name(), " not provided.", why_ ? misspelled(kwargs) : "", "\n");
    }
  }
  if (self) return refuse("Provided self argument not used in schema.\n");
  if (schema_.is_vararg()) {
    for (; used < args.size(); ++used) plan.rest.push_back(&args[used]);
  }
  if (used < args.size()) {
    return refuse(  // with the object of a method counted, as torch.jit does
        "Expected at most ", used, " arguments but found ", args.size(), " positional arguments.\n");
  }
  for (size_t i = 0; i < kwargs.size(); ++i) {
    if (used_keywords[i]) continue;
    if (!why_) return false;
    if (schema_.argumentIndexWithName(kwargs[i].name))
      return refuse("Keyword argument ", kwargs[i].name, " specified twice.\n");
    const std::string similar = similarArgument(schema_, kwargs[i].name);
    return refuse("Keyword argument ", kwargs[i].name, " unknown", similar.empty() ? "." : similar, "\n");
  }
  return fillReturns(plan);
}

// --- inserting what a plan says

Value* insertDefault(Graph& graph, const SourceRange& range, const c10::Argument& arg) {
  const c10::IValue& value = *arg.default_value();
  TypePtr type = arg.type();
  if (type->castRaw<c10::OptionalType>() && !value.isNone()) type = withoutOptional(type);
  // A schema writes `int[2] stride=1`.
  if (auto list = type->castRaw<c10::ListType>(); list && !value.isList() && arg.N()) {
    Value* one = graph.insertConstant(value);
    if (range) one->node()->setSourceRange(range);
    std::vector<Value*> copies(static_cast<size_t>(*arg.N()), one);
    return insertTyped(graph, range, prim::ListConstruct, copies, type);
  }
  Value* inserted = graph.insertConstant(value);
  if (range) inserted->node()->setSourceRange(range);
  return inserted;
}

Value* insertSlot(Graph& graph, const SourceRange& range, const Slot& slot) {
  if (slot.defaulted) return insertDefault(graph, range, *slot.defaulted);
  if (slot.is_varargs) {
    std::vector<Value*> elements;
    elements.reserve(slot.varargs.size());
    for (const Slot& element : slot.varargs) elements.push_back(insertSlot(graph, range, element));
    return insertTyped(graph, range, prim::ListConstruct, elements, c10::ListType::create(slot.varargs_element));
  }
  if (slot.conversion.kind == Conversion::Kind::NewList) return applyConversion(graph, range, nullptr, slot.conversion);
  Value* value = slot.from->get(graph);
  if (slot.repeat) {
    Conversion repeat;
    repeat.kind = Conversion::Kind::Repeat;
    repeat.count = slot.repeat_count;
    repeat.element = slot.repeat_element;
    value = applyConversion(graph, range, value, repeat);
  }
  return applyConversion(graph, range, value, slot.conversion);
}

MatchedSchema insertPlan(Graph& graph, const SourceRange& range, const c10::FunctionSchema& schema, Plan& plan) {
  MatchedSchema result;
  result.schema = &schema;
  result.return_types = std::move(plan.return_types);
  result.inputs.reserve(plan.slots.size() + plan.rest.size());
  for (const Slot& slot : plan.slots) result.inputs.push_back(insertSlot(graph, range, slot));
  for (const NamedValue* value : plan.rest) result.inputs.push_back(value->get(graph));
  return result;
}

/// The matched overload of a name.
struct Choice {
  const Operator* op = nullptr;  // or
  const Composite* composite = nullptr;
  Plan plan;
};

bool choose(
    Symbol name, const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs, const NamedValue* self,
    std::string* why, bool allow_conversions, Choice& choice) {
  for (const Operator* op : OperatorTable::get().overloads(name)) {
    if (isOnlyCalledByOverload(op->schema())) continue;
    Plan plan;
    if (Planner(op->schema(), why, allow_conversions).run(args, kwargs, self, plan)) {
      choice = {op, nullptr, std::move(plan)};
      return true;
    }
  }
  for (const Composite& composite : compositesOf(name)) {
    // A composite's schema has no receiver; `x.ndim` passes it as the first argument.
    Plan plan;
    if (Planner(composite.schema, why, allow_conversions).run(args, kwargs, self, plan)) {
      choice = {nullptr, &composite, std::move(plan)};
      return true;
    }
  }
  return false;
}

/// Says so if what an element is put into was made as `[]` or `{}`, without a word about its type.
std::string emptyContainerHint(const std::vector<NamedValue>& args, const NamedValue* receiver) {
  const NamedValue* container = receiver ? receiver : args.empty() ? nullptr : args.data();
  if (!container || !container->value) return "";
  const Node* maker = container->value->node();
  const bool list = maker->kind() == prim::ListConstruct || maker->kind() == prim::EmptyListLiteral;
  if ((!list && maker->kind() != prim::DictConstruct) || !maker->inputs().empty()) return "";
  const std::string type = container->type()->repr_str();
  if (type != "List[Tensor]" && type != "Dict[str, Tensor]") return "";
  const size_t first = receiver ? 0 : 1;
  std::string wanted = list ? "List[T]" : "Dict[K, V]";
  if (list && args.size() > first) wanted = "List[" + args.back().type()->annotation_str() + "]";
  if (!list && args.size() == first + 2) {
    wanted = "Dict[" + args[first].type()->annotation_str() + ", " + args[first + 1].type()->annotation_str() + "]";
  }
  const std::string name = container->value->hasDebugName() ? container->value->debugName() : "xs";
  return std::string("An empty ") + (list ? "list" : "dict") + " is a " + type +
         " unless it is annotated where it is made: " + name.substr(0, name.find('.')) + ": " + wanted + " = " +
         (list ? "[]" : "{}") + "\n";
}

/// Says what to do if what no overload takes is an Optional.
std::string optionalHint(const std::string& why) {
  if (why.find("but instead found type 'Optional[") == std::string::npos) return "";
  return "An argument may be None: test it with `is not None` first.\n";
}

std::string indented(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result += "  " + line + "\n";
  return result;
}

[[noreturn]] void throwUnknown(Symbol name, const SourceRange& range) {
  std::string message = "Unknown builtin op: " + std::string(name.toQualString()) + ".\n";
  auto similar = OperatorTable::get().similarNames(name);
  if (similar.empty()) {
    message += "Could not find any similar ops to " + std::string(name.toQualString()) +
               ". This op may not exist or may not be currently supported in TorchScript.\n";
  } else {
    message += "Here are some suggestions: \n";
    for (const auto& suggestion : similar) message += "\t" + suggestion + "\n";
  }
  throw UserError(message, range);
}

Value* packOutputs(Graph& graph, const SourceRange& range, Node* node, const c10::FunctionSchema& schema) {
  auto outputs = node->outputs();
  if (outputs.size() == 1) return outputs[0];
  if (outputs.empty()) {
    Value* none = graph.insertConstant(c10::IValue());
    if (range) none->node()->setSourceRange(range);
    return none;
  }
  std::vector<TypePtr> types;
  std::vector<std::string> fields;
  for (size_t i = 0; i < outputs.size(); ++i) {
    types.push_back(outputs[i]->type());
    const auto& field = schema.returns()[i].name();
    if (!field.empty()) fields.push_back(field);
  }
  TypePtr type = fields.size() == types.size() ? TypePtr(c10::TupleType::createNamed(std::nullopt, fields, types))
                                               : TypePtr(c10::TupleType::create(types));
  return insertTyped(graph, range, prim::TupleConstruct, outputs, type);
}

constexpr ColumnCell<bool> kOnlyByOverload[] = {
#define OPERATOR(name) {name, false},
#define ONLY_BY_OVERLOAD() {{}, true},
#include "cresset/ops/table/table.def"
};

}  // namespace

bool isBoolForNumber(const c10::Type& given, const c10::Type& wanted) {
  const auto* optional = wanted.castRaw<c10::OptionalType>();
  return given.kind() == c10::TypeKind::BoolType &&
         (optional ? optional->getElementType()->kind() : wanted.kind()) == c10::TypeKind::NumberType;
}

bool isOnlyCalledByOverload(const c10::FunctionSchema& schema) {
  static const auto* names = new auto(byOperator(kOnlyByOverload));
  const auto& overload = schema.overload_name();
  const auto isMeant = [&](const auto& entry) {
    const std::string_view full_name = entry.first;
    return full_name.size() == schema.name().size() + 1 + overload.size() && full_name.starts_with(schema.name()) &&
           full_name.ends_with(overload);
  };
  return !overload.empty() && std::any_of(names->begin(), names->end(), isMeant);
}

std::optional<MatchedSchema> tryMatchSchema(
    const c10::FunctionSchema& schema, Graph& graph, const SourceRange& range, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self, std::string* why,
    bool allow_conversions) {
  if (isOnlyCalledByOverload(schema)) return std::nullopt;
  Plan plan;
  if (!Planner(schema, why, allow_conversions).run(args, kwargs, self ? &*self : nullptr, plan)) return std::nullopt;
  return insertPlan(graph, range, schema, plan);
}

MatchedSchema matchSchema(
    const c10::FunctionSchema& schema, Graph& graph, const SourceRange& range, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self) {
  std::string why;
  if (auto matched = tryMatchSchema(schema, graph, range, args, kwargs, self, &why, true)) return std::move(*matched);
  throw UserError(why, range);
}

std::string similarArgument(const c10::FunctionSchema& schema, std::string_view name) {
  std::vector<std::string> names;
  for (const c10::Argument& argument : schema.arguments()) names.push_back(argument.name());
  return didYouMean(name, names);
}

bool isBuiltin(Symbol name) {
  return !OperatorTable::get().overloads(name).empty() || !compositesOf(name).empty();
}

bool isBuiltinMethod(Symbol name, const TypePtr& self) {
  auto takes = [&](const c10::FunctionSchema& schema, bool first) {
    auto index = schema.argumentIndexWithName("self");
    if (!index && (!first || schema.arguments().empty())) return false;
    const TypePtr& formal = schema.arguments()[index ? static_cast<size_t>(*index) : 0].type();
    if (!formal->hasFreeVariables()) return self->isSubtypeOf(*formal);
    c10::TypeEnv env;
    if (!c10::matchTypeVariables(formal, self, env).success()) return false;
    TypePtr wanted = c10::tryEvalTypeVariables(formal, env);
    return wanted && self->isSubtypeOf(*wanted);
  };
  for (const Operator* op : OperatorTable::get().overloads(name)) {
    if (takes(op->schema(), false)) return true;
  }
  for (const Composite& composite : compositesOf(name)) {
    if (takes(composite.schema, true)) return true;
  }
  return false;
}

namespace {

constexpr ColumnCell<bool> kNumbersInTensors[] = {
#define OPERATOR(name)
#define OVERLOADS(name) {name, {}},
#define NUMBERS_IN_TENSORS() {{}, true},
#include "cresset/ops/table/table.def"
};

/// torch.jit's traces hold the number of `x * 2.5` as a tensor without dimensions, in archives as one that no longer
/// says that it was a number, and torch.jit takes such constants of these operators for numbers again: the product of
/// int64 is float32. Only code of archives has constant tensors here.
void takeForNumber(Graph& graph, Symbol name, std::vector<Value*>& inputs) {
  if (inputs.size() < 2 || inputs[1]->node()->kind() != prim::Constant) return;
  static const auto* names = new auto(byOperator(kNumbersInTensors));
  if (!names->contains(name.toQualString())) return;
  const auto constant = toIValue(inputs[1]);
  if (!constant || !constant->isTensor()) return;
  const at::Tensor& tensor = constant->toTensor();
  if (!tensor.defined() || tensor.dim() != 0 || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;
  const c10::ScalarType dtype = tensor.scalar_type();
  const bool may_be_number =
      dtype == c10::kDouble || dtype == c10::kLong || dtype == c10::kBool || dtype == c10::kComplexDouble;
  if (!may_be_number) return;
  at::Tensor number = at::_ops::detach::call(tensor);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  inputs[1] = graph.insertConstant(c10::IValue(std::move(number)), inputs[1]->type());
}

Value* insertCall(Graph& graph, const Operator& op, Plan& plan, const SourceRange& range) {
  auto matched = insertPlan(graph, range, op.schema(), plan);
  takeForNumber(graph, op.kind(), matched.inputs);
  Node* node = graph.insertNode(graph.create(op.kind(), matched.inputs, matched.return_types.size()));
  if (range) node->setSourceRange(range);
  for (size_t i = 0; i < matched.return_types.size(); ++i) node->output(i)->setType(matched.return_types[i]);
  node->bindOperator(&op);
  return packOutputs(graph, range, node, op.schema());
}

}  // namespace

Value* insertOp(
    Graph& graph, Symbol name, const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs,
    const SourceRange& range, const std::optional<NamedValue>& self) {
  const NamedValue* receiver = self ? &*self : nullptr;
  Choice choice;
  if (!choose(name, args, kwargs, receiver, nullptr, false, choice) &&
      !choose(name, args, kwargs, receiver, nullptr, true, choice)) {
    size_t candidates = OperatorTable::get().overloads(name).size() + compositesOf(name).size();
    if (candidates == 0) throwUnknown(name, range);
    std::string why;
    choose(name, args, kwargs, receiver, &why, true, choice);
    why += emptyContainerHint(args, receiver) + optionalHint(why);
    if (candidates == 1) throw UserError(why, range);
    throw UserError(
        "Arguments for call are not valid.\nThe following variants are available:\n" + indented(why) +
            "The original call is",
        range);
  }
  if (choice.composite) {
    auto matched = insertPlan(graph, range, choice.composite->schema, choice.plan);
    return choice.composite->expand(graph, range, matched.inputs);
  }
  return insertCall(graph, *choice.op, choice.plan, range);
}

Value* insertOverload(
    Graph& graph, const Operator& op, const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs,
    const SourceRange& range) {
  for (const bool allow_conversions : {false, true}) {
    Plan plan;
    std::string why;
    if (Planner(op.schema(), &why, allow_conversions, /*keep_bools=*/true).run(args, kwargs, nullptr, plan))
      return insertCall(graph, op, plan, range);
    if (allow_conversions) throw UserError(why, range);
  }
  CRESSET_CHECK(false, "the second attempt returns or throws");
}

Value* tryConvertTo(Graph& graph, const SourceRange& range, Value* value, const TypePtr& to, bool allow_conversions) {
  bool literal = isEmptyListLiteral(value);
  if (!literal && value->type() == to) return value;
  Conversion conversion = planConversion(value->type(), to, literal, allow_conversions);
  const TypePtr& converted = conversion.type ? conversion.type : value->type();
  if (!converted->isSubtypeOf(*to)) return nullptr;
  return applyConversion(graph, range, value, conversion);
}

}  // namespace cresset
