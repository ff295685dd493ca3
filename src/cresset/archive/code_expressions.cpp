// Expressions: what a node is called, and how values are written. See code_printer_impl.h.
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "cresset/archive/code_printer_impl.h"
#include "cresset/frontend/builtin_names.h"
#include "cresset/frontend/refinement.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/host_callable.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"
#include "cresset/support/string_literal.h"

namespace cresset {

namespace {

bool sameConstant(const c10::IValue& a, const c10::IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isNone()) return true;
  if (a.isInt()) return a.toInt() == b.toInt();
  if (a.isBool()) return a.toBool() == b.toBool();
  if (a.isDouble()) return a.toDouble() == b.toDouble();
  if (a.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isIntList()) return a.toIntVector() == b.toIntVector();
  if (a.isDoubleList()) return a.toDoubleVector() == b.toDoubleVector();
  if (a.isBoolList()) return a.toBoolList().vec() == b.toBoolList().vec();
  return false;
}

/// Whether `value` is the constant that a call gets if it leaves this argument out.
bool holdsDefault(const Value* value, const c10::Argument& argument) {
  if (!argument.default_value()) return false;
  const auto held = toIValue(value);
  return held && sameConstant(*held, *argument.default_value());
}

/// Constants that no literal says: left out where they are defaults.
bool isCompound(const Value* value) {
  const auto held = toIValue(value);
  return held && (held->isList() || held->isTuple() || held->isGenericDict());
}

/// Null if what is called has no schema to look at.
const c10::FunctionSchema* schemaOfCallee(const Node* node) {
  const TypePtr& type = node->input(0)->type();
  if (auto function = type->cast<c10::FunctionType>()) return &function->function()->getSchema();
  if (auto interface = type->cast<c10::InterfaceType>()) return interface->getMethod(node->s(attr::name));
  const auto cls = type->cast<c10::ClassType>();
  const torch::jit::Function* method = cls ? cls->findMethod(node->s(attr::name)) : nullptr;
  return method ? &method->getSchema() : nullptr;
}

/// The forward hook that a call of a method calls; null if it calls any other method.
torch::jit::Function* calledHook(const Node* node) {
  const auto cls = node->input(0)->type()->cast<c10::ClassType>();
  if (!cls) return nullptr;
  torch::jit::Function* hook = cls->findHook(node->s(attr::name));
  torch::jit::Function* method = cls->findMethod(node->s(attr::name));
  return hook && (!method || method == hook) ? hook : nullptr;
}

}  // namespace

const Value* CodePrinter::original(const Value* value) const {
  for (auto found = same_as_.find(value); found != same_as_.end(); found = same_as_.find(value)) value = found->second;
  return value;
}

void CodePrinter::write(const Value* given) {
  const Value* value = original(given);
  const auto known = expressions_.find(value);
  if (known != expressions_.end()) {
    out_ << known->second;
    return;
  }
  const Node* node = value->node();
  if (isConstantNode(node)) {
    out_ << constantText(value);
    return;
  }
  CRESSET_CHECK(inlined_.contains(node), "value %" + value->debugName() + " is printed before its definition");
  writeExpression(node);
}

TypePtr typeInCode(const Value* value) {
  return isNoneConstant(value) ? TypePtr(c10::NoneType::get()) : value->type();
}

void CodePrinter::writeAs(const Value* value, const TypePtr& type) {
  if (sameAnnotation(typeInCode(value), type))
    write(value);
  else
    writeAnnotated(type, value);
}

void CodePrinter::writeAnnotated(const TypePtr& type, const Value* value) {
  out_ << "annotate(" << annotation(type) << ", ";
  write(value);
  out_ << ")";
}

std::string CodePrinter::constantText(const Value* value) {
  if (auto function = value->type()->cast<c10::FunctionType>()) return names_.ofFunction(*function->function());
  const auto held = toIValue(value);
  return printConstant(held ? *held : c10::IValue(), options_, unnamed_constants_);
}

void CodePrinter::writeList(InputRange inputs, size_t from) {
  for (size_t i = from; i < inputs.size(); ++i) {
    if (i > from) out_ << ", ";
    write(inputs[i]);
  }
}

void CodePrinter::writeCallOf(const c10::FunctionSchema* callee, const Node* node) {
  // A method's schema has the object first, as the node's inputs do; a function is an input that its schema lacks.
  const size_t shift = node->kind() == prim::CallFunction ? 1 : 0;
  const auto inputs = node->inputs();
  out_ << "(";
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (i > 1) out_ << ", ";
    if (callee && i - shift < callee->arguments().size()) {
      const c10::Argument& argument = callee->arguments()[i - shift];
      if (argument.kwarg_only()) out_ << argument.name() << "=";
    }
    write(inputs[i]);
  }
  out_ << (inputs.size() > 1 ? ", )" : ")");
}

void CodePrinter::writeReceiver(const Value* value) {
  const auto known = expressions_.find(original(value));
  if (known != expressions_.end() && isCodeIdentifier(known->second)) {
    out_ << known->second;
  } else {
    out_ << "(";
    write(value);
    out_ << ")";
  }
}

void CodePrinter::writeTupleLiteral(const Node* node) {
  const auto type = node->output()->type()->cast<c10::TupleType>();
  const bool named = type && type->name();
  out_ << (named ? names_.ofType(type) : std::string()) << "(";
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    if (i) out_ << ", ";
    // A named tuple's fields have declared types.
    if (type && !named)
      writeAs(node->input(i), type->elements()[i]);
    else
      write(node->input(i));
  }
  out_ << (node->inputs().size() == 1 && !named ? ",)" : ")");
}

void CodePrinter::writeAttribute(const Node* node) {
  const std::string& name = node->s(attr::name);
  if (isCodeIdentifier(name)) {
    writeReceiver(node->input(0));
    out_ << "." << name;
  } else {
    out_ << "getattr(";
    write(node->input(0));
    out_ << ", " << quoteString(name) << ")";
  }
}

void CodePrinter::writeMethodCall(const Node* node) {
  // In archives hooks are no methods: code calls them as functions, which the archive defines once more.
  if (torch::jit::Function* hook = calledHook(node)) {
    out_ << names_.ofFunction(*hook) << "(";
    writeList(node->inputs());
    out_ << ", )";
    return;
  }
  out_ << "(";
  write(node->input(0));
  out_ << ")." << node->s(attr::name);
  writeCallOf(schemaOfCallee(node), node);
}

namespace {

constexpr ColumnCell<std::string_view> kCode[] = {
#define OPERATOR(name)
#define OVERLOADS(name) {name, {}},
#define CODE(text) {{}, text},
#include "cresset/ops/table/table.def"
};

/// What the column CODE says of operators of this name; empty if nothing.
std::string_view codeOf(Symbol kind) {
  static const auto* texts = [] {
    auto* by_kind = new std::unordered_map<Symbol, std::string_view>;
    for (const auto& [name, text] : byOperator(kCode))
      by_kind->emplace(Symbol::fromQualString(std::string(name)), text);
    return by_kind;
  }();
  const auto found = texts->find(kind);
  return found == texts->end() ? std::string_view() : found->second;
}

}  // namespace

bool CodePrinter::writeByTable(const Node* node) {
  std::string_view text = codeOf(node->kind());
  if (text.empty() || hidden_words_.contains(std::string(text.substr(0, text.find('('))))) return false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('$'), text.size());
    out_ << std::string(text.substr(0, end));
    text.remove_prefix(end);
    const auto isNext = [&](std::string_view word) {
      const bool is_next = text.starts_with(word);
      if (is_next) text.remove_prefix(word.size());
      return is_next;
    };
    if (text.empty()) break;
    if (isNext("$inputs")) {
      writeList(node->inputs());
    } else if (isNext("$type")) {
      out_ << annotation(node->output()->type());
    } else if (isNext("$receiver")) {
      writeReceiver(node->input(0));
    } else if (isNext("$0")) {
      write(node->input(size_t(0)));
    } else {
      CRESSET_CHECK(isNext("$1"), "the column CODE has $receiver, $0, $1, $inputs and $type");
      write(node->input(1));
    }
  }
  return true;
}

/// None alone does not say of what type it might be.
bool CodePrinter::writeUnwrapped(const Node* node) {
  if (isStructural(node->kind()) || node->inputs().size() != 1 || !isNoneConstant(node->input(0))) return false;
  const Operator* op = operatorOf(*node);
  if (!op || !op->hasTrait(Trait::Unwraps)) return false;
  out_ << calleeName(node) << "(";
  writeAnnotated(c10::OptionalType::create(node->output()->type()), node->input(0));
  out_ << ")";
  return true;
}

void CodePrinter::writeExpression(const Node* node) {
  CodeText::Place place(out_, node->sourceRange());
  switch (node->kind()) {
    case prim::TupleConstruct:
      return writeTupleLiteral(node);
    case prim::TupleUnpack:
    case prim::ListUnpack:
      return write(node->input(0));
    case prim::ListConstruct:
      return writeListLiteral(node);
    case prim::DictConstruct:
      return writeDictLiteral(node);
    case prim::TupleIndex:
      out_ << "(";
      write(node->input(0));
      out_ << ")[";
      write(node->input(1));
      out_ << "]";
      return;
    case prim::TupleSlice:
      out_ << "(";
      write(node->input(0));
      out_ << ")[" << std::to_string(node->i(attr::beg)) << ":" << std::to_string(node->i(attr::end)) << "]";
      return;
    case prim::CreateObject: {
      const std::string type = annotation(node->output()->type());
      out_ << type << ".__new__(" << type << ")";
      return;
    }
    case prim::GetAttr:
      return writeAttribute(node);
    case prim::CallFunction:
      write(node->input(0));
      return writeCallOf(schemaOfCallee(node), node);
    case prim::CallMethod:
      return writeMethodCall(node);
    case prim::isinstance:
      return writeIsInstance(node);
    case prim::unchecked_cast:
      out_ << "unchecked_cast(" << annotation(node->output()->type()) << ", ";
      // The compiler leaves out casts that change nothing, unless the value's static type is a wider one.
      if (sameAnnotation(typeInCode(node->input(0)), node->output()->type()))
        writeAnnotated(c10::AnyType::get(), node->input(0));
      else
        write(node->input(0));
      out_ << ")";
      return;
    case prim::Uninitialized:
      out_ << "uninitialized(" << annotation(node->output()->type()) << ")";
      return;
    case aten::wait:
      out_ << "torch.wait(";
      writeList(node->inputs());
      out_ << ")";
      return;
    default:
      if (callsHost(*node)) return writePythonCall(node);
      if (!writeUnwrapped(node) && !writeByTable(node)) writeOperatorCall(node);
  }
}

void CodePrinter::writeIsInstance(const Node* node) {
  const auto& types = node->tys(attr::types);
  out_ << "isinstance(";
  // A test that the compiler would decide is one of a variable that was declared to be more than what it holds.
  if (testInstance(typeInCode(node->input(0)), types).known)
    writeAnnotated(c10::AnyType::get(), node->input(0));
  else
    write(node->input(0));
  out_ << ", " << (types.size() == 1 ? "" : "(");
  for (size_t i = 0; i < types.size(); ++i) out_ << (i ? ", " : "") << annotation(types[i]);
  out_ << (types.size() == 1 ? ")" : "))");
}

void CodePrinter::writePythonCall(const Node* node) {
  const Attribute* held = node->findAttribute(attr::name);
  const std::string name = held && held->kind() == Attribute::Kind::String ? held->asString() : "<python function>";
  if (options_.importable) {
    throw UserError(
        "Could not export Python function call '" + name +
            "': code that is saved can't call back into Python. Remove calls to Python functions before export, or "
            "make them script functions",
        node->sourceRange());
  }
  out_ << "^" << name << "(";
  writeList(node->inputs());
  out_ << ")";
}

void CodePrinter::writeListLiteral(const Node* node) {
  const TypePtr& type = node->output()->type();
  const TypePtr& element = type->expectRef<c10::ListType>().getElementType();
  const auto inputs = node->inputs();
  const bool inferable = inputs.empty() ? element->kind() == c10::TypeKind::TensorType
                                        : std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) {
                                            return !isNoneConstant(input) && sameAnnotation(input->type(), element);
                                          });
  // What is empty and of tensors says so for readers.
  const bool annotated = !inferable || inputs.empty();
  if (annotated) out_ << "annotate(" << annotation(type) << ", ";
  out_ << "[";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i) out_ << ", ";
    writeElement(element, inputs[i]);
  }
  out_ << (annotated ? "])" : "]");
}

void CodePrinter::writeElement(const TypePtr& wanted, Value* value) {
  // A literal takes its type from where it stands: of a list of a Union, from the first member that it fits.
  const bool container =
      value->type()->kind() == c10::TypeKind::ListType || value->type()->kind() == c10::TypeKind::DictType;
  if (container && !sameAnnotation(value->type(), wanted))
    writeAnnotated(value->type(), value);
  else
    write(value);
}

void CodePrinter::writeDictLiteral(const Node* node) {
  const TypePtr& output = node->output()->type();
  const auto& type = output->expectRef<c10::DictType>();
  const auto inputs = node->inputs();
  bool inferable = !inputs.empty();
  for (size_t i = 0; inferable && i + 1 < inputs.size(); i += 2) {
    inferable = !isNoneConstant(inputs[i + 1]) && sameAnnotation(inputs[i]->type(), type.getKeyType()) &&
                sameAnnotation(inputs[i + 1]->type(), type.getValueType());
  }
  if (!inferable) out_ << "annotate(" << annotation(output) << ", ";
  out_ << "{";
  for (size_t i = 0; i + 1 < inputs.size(); i += 2) {
    if (i) out_ << ", ";
    write(inputs[i]);
    out_ << ": ";
    writeElement(type.getValueType(), inputs[i + 1]);
  }
  out_ << (inferable ? "}" : "})");
}

// ---- operators ----

std::string CodePrinter::calleeName(const Node* node) {
  const std::string ns = node->kind().ns().toUnqualString(), name = node->kind().toUnqualString();
  if (ns == "aten" && isCodeIdentifier(name) && isOperatorOfTorch(name)) return "torch." + name;
  if (isCodeIdentifier(ns) && isCodeIdentifier(name)) return "ops." + ns + "." + name;
  throw UserError(
      "The operator '" + std::string(node->kind().toQualString()) +
          "' can't be called from code, because its name is a word of the language.",
      node->sourceRange());
}

/// Of a trace or of Python's edits: a call by the operator's name alone would make an int of the bool.
static bool takesBoolAsNumber(const Node& node, const c10::FunctionSchema& schema) {
  if (schema.is_vararg()) return false;
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (isBoolForNumber(*node.input(i)->type(), *schema.arguments()[i].type())) return true;
  return false;
}

void CodePrinter::writeOperatorCall(const Node* node) {
  const Operator* op = operatorOf(*node);  // binding is a cache
  if (!op && node->blocks().empty() && isStructural(node->kind())) {
    throw UserError(
        "A node of kind '" + std::string(node->kind().toQualString()) + "' can't be printed as code.",
        node->sourceRange());
  }
  if (op && (isOnlyCalledByOverload(op->schema()) || takesBoolAsNumber(*node, op->schema())))
    out_ << "ops." << node->kind().ns().toUnqualString() << "." << node->kind().toUnqualString() << "."
         << (op->schema().overload_name().empty() ? "default" : op->schema().overload_name()) << "(";
  else
    out_ << calleeName(node) << "(";
  if (!op || op->schema().is_vararg()) {
    writeList(node->inputs());
    out_ << ")";
    return;
  }
  const auto& arguments = op->schema().arguments();
  // Trailing arguments that hold their default are left out, as people write calls. So are those in the middle that
  // no literal says; what follows them is given by keyword.
  size_t count = std::min(node->inputs().size(), arguments.size());
  while (count > 0 && holdsDefault(node->input(count - 1), arguments[count - 1])) --count;
  bool first = true, by_keyword = false;
  for (size_t i = 0; i < count; ++i) {
    const bool is_default = holdsDefault(node->input(i), arguments[i]);
    by_keyword |= arguments[i].kwarg_only();
    if (is_default && (by_keyword || isCompound(node->input(i)))) {
      by_keyword = true;
      continue;
    }
    if (!first) out_ << ", ";
    first = false;
    if (by_keyword) out_ << arguments[i].name() << "=";
    write(node->input(i));
  }
  out_ << ")";
}

}  // namespace cresset
