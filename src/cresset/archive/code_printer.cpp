// Graph to source.
//
// Every node becomes a statement `name = expression`, except those whose value is used once, by the very next thing
// that is evaluated: they are printed inside the expression that uses them. That keeps the order of evaluation exactly
// as it is in the graph, so no node needs to be known as pure. Values that carry a name of the user's are never folded
// away. Expressions nest at most kMaxInlineDepth deep, so that the parser's limit holds for any graph.
#include "cresset/archive/code_printer.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "cresset/ir/constants.h"
#include "cresset/ir/printer.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"
#include "cresset/support/lexer.h"

namespace cresset {
namespace {

constexpr int kMaxInlineDepth = 20;

const std::unordered_set<std::string>& reservedNames() {
  static const std::unordered_set<std::string> kNames = {"and",      "as",        "assert",     "async",
                                                         "await",    "break",     "class",      "continue",
                                                         "def",      "del",       "elif",       "else",
                                                         "except",   "finally",   "for",        "from",
                                                         "global",   "if",        "import",     "in",
                                                         "is",       "lambda",    "None",       "nonlocal",
                                                         "not",      "or",        "pass",       "raise",
                                                         "return",   "True",      "False",      "try",
                                                         "while",    "with",      "yield",      "torch",
                                                         "ops",      "CONSTANTS", "annotate",   "uninitialized",
                                                         "getattr",  "setattr",   "isinstance", "unchecked_cast",
                                                         "fork",     "wait",      "inf",        "nan",
                                                         "infj",     "nanj",      "int",        "float",
                                                         "bool",     "str",       "complex",    "print",
                                                         "range",    "len",       "list",       "dict",
                                                         "tuple",    "min",       "max",        "abs",
                                                         "sorted",   "zip",       "enumerate",  "device",
                                                         "Tensor",   "List",      "Dict",       "Tuple",
                                                         "Optional", "Union",     "Any",        "Future",
                                                         "NoneType", "type",      "super",      "hasattr"};
  return kNames;
}

bool isIdentifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || reservedNames().contains(name)) return false;
  return std::all_of(name.begin(), name.end(), isNameCharacter);
}

std::string annotation(const TypePtr& type) {
  return type->annotation_str();
}

std::string floatLiteral(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);  // shortest that reads back
  std::string text(buffer.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + "." : text;
}

class CodePrinter {
 public:
  CodePrinter(Function& function, CodeOptions options)
      : function_(function), graph_(*function.graph()), options_(options) {}

  std::string print(const std::string& name) {
    const c10::FunctionSchema& schema = function_.getSchema();
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      expressions_[graph_.inputs()[i]] = uniqueName(schema.arguments()[i].name());
    }
    out_ << "def " << name << "(";
    bool kwarg_only = false;
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      if (i) out_ << ",\n    ";
      if (argument.kwarg_only() && !kwarg_only) out_ << "*,\n    ";
      kwarg_only |= argument.kwarg_only();
      out_ << argument.name();
      if (i > 0 || options_.type_of_first) out_ << ": " << annotation(argument.type());
      if (argument.default_value()) out_ << "=" << literal(*argument.default_value(), argument.type());
    }
    out_ << ") -> " << annotation(schema.returns().at(0).type()) << ":\n";
    ++indent_;
    scanBlock(graph_.block());
    printBlock(graph_.block());
    line() << "return " << text(graph_.outputs()[0]) << "\n";
    return out_.str();
  }

 private:
  // ---- which nodes are printed inside others ----

  static bool isConstantNode(const Node* node) { return node->kind() == prim::Constant; }

  static const Node* previous(const Node* node) {
    do node = node->prev();
    while (isConstantNode(node));
    return node;
  }

  static bool isStatement(const Node* node) {
    return node->outputs().size() != 1 || !node->blocks().empty() || node->kind() == prim::Enter ||
           node->kind() == prim::Exit || node->kind() == prim::fork || node->kind() == prim::Uninitialized;
  }

  static bool canInline(const Value* value) {
    const Node* node = value->node();
    if (isStatement(node) || value->hasDebugName() || value->uses().size() != 1) return false;
    const Node* user = value->uses().front().user;
    // A loop's condition and an if's condition are printed once, before the block.
    return user->owningBlock() == node->owningBlock() || user == node->owningBlock()->returnNode();
  }

  /// `point` is the node that is evaluated right before what has been scanned so far.
  const Node* scanInputs(const Node* node, int depth) {
    const Node* point = previous(node);
    for (size_t i = node->inputs().size(); i-- > 0;) {
      const Value* input = node->input(i);
      if (input->node() == point && depth < kMaxInlineDepth && canInline(input)) {
        inlined_.insert(point);
        point = scanInputs(point, depth + 1);
      }
    }
    return point;
  }

  void scanBlock(const Block* block) {
    scanInputs(block->returnNode(), 0);
    for (const Node* node = block->returnNode()->prev(); node != block->returnNode(); node = node->prev()) {
      if (isConstantNode(node) || inlined_.contains(node)) continue;
      scanInputs(node, 0);
      for (const Block* inner : node->blocks()) scanBlock(inner);
    }
  }

  // ---- names ----

  std::string uniqueName(std::string stem) {
    stem = stem.substr(0, stem.find('.'));
    if (!isIdentifier(stem)) stem = "_" + stem;
    if (!isIdentifier(stem)) stem = "_v";
    std::string name = stem;
    for (size_t& next = next_suffix_[stem]; !used_.insert(name).second;) name = stem + std::to_string(next++);
    return name;
  }

  std::string temporary() {
    std::string name;
    do name = "_" + std::to_string(next_temporary_++);
    while (!used_.insert(name).second);
    return name;
  }

  const std::string& assignName(const Value* value) {
    return expressions_[value] = value->hasDebugName() ? uniqueName(value->debugName()) : temporary();
  }

  // ---- expressions ----

  std::string text(const Value* value) {
    const auto known = expressions_.find(value);
    if (known != expressions_.end()) return known->second;
    const Node* node = value->node();
    if (isConstantNode(node)) return constant(value);
    CRESSET_CHECK(inlined_.contains(node), "value %" + value->debugName() + " is printed before its definition");
    return expression(node);
  }

  std::string constant(const Value* value) {
    if (auto function = value->type()->cast<c10::FunctionType>())
      return function->function()->qualname().qualifiedName();
    const auto iv = toIValue(value);
    return literal(iv ? *iv : c10::IValue(), value->type());
  }

  std::string tableEntry(const c10::IValue& value) {
    if (!options_.constants) return "CONSTANTS.c" + std::to_string(unnamed_constants_++);
    auto& table = *options_.constants;
    for (size_t i = 0; i < table.size(); ++i) {
      if (table[i].isTensor() && value.isTensor() && table[i].is(value)) return "CONSTANTS.c" + std::to_string(i);
    }
    table.push_back(value);
    return "CONSTANTS.c" + std::to_string(table.size() - 1);
  }

  std::string literal(const c10::IValue& value, const TypePtr& type) {
    if (value.isNone()) return "None";
    if (value.isBool()) return value.toBool() ? "True" : "False";
    if (value.isInt()) return std::to_string(value.toInt());
    if (value.isDouble()) return floatLiteral(value.toDouble());
    if (value.isString()) return quoteString(value.toStringRef());
    if (value.isDevice()) return "torch.device(" + quoteString(value.toDevice().str()) + ")";
    if (value.isEnum()) {
      const auto& holder = *value.toEnumHolder();
      return holder.qualifiedClassName() + "." + holder.name();
    }
    if (value.isComplexDouble() && value.toComplexDouble().real() == 0 && value.toComplexDouble().imag() >= 0) {
      const std::string imaginary = floatLiteral(value.toComplexDouble().imag());
      return imaginary + "j";
    }
    if (value.isList()) {
      const auto element = value.type()->expectRef<c10::ListType>().getElementType();
      std::string items;
      for (const c10::IValue& item : value.toListRef()) items += (items.empty() ? "" : ", ") + literal(item, element);
      return items.empty() ? "annotate(" + annotation(value.type()) + ", [])" : "[" + items + "]";
    }
    if (value.isTuple()) {
      std::string items;
      const auto& elements = value.toTupleRef().elements();
      for (const c10::IValue& item : elements) items += (items.empty() ? "" : ", ") + literal(item, TypePtr());
      return "(" + items + (elements.size() == 1 ? ",)" : ")");
    }
    if (value.isGenericDict() && !value.toGenericDict().empty()) {
      std::string items;
      for (const auto& entry : value.toGenericDict()) {
        items +=
            (items.empty() ? "" : ", ") + literal(entry.key(), TypePtr()) + ": " + literal(entry.value(), TypePtr());
      }
      return "{" + items + "}";
    }
    return tableEntry(value);
  }

  std::string join(InputRange inputs, size_t from = 0) {
    std::string result;
    for (size_t i = from; i < inputs.size(); ++i) result += (i > from ? ", " : "") + text(inputs[i]);
    return result;
  }

  std::string callArguments(InputRange inputs, size_t from) {
    std::string result = "(" + join(inputs, from);
    return result + (inputs.size() > from ? ", )" : ")");
  }

  std::string expression(const Node* node) {
    switch (node->kind()) {
      case prim::TupleConstruct: {
        const auto type = node->output()->type()->cast<c10::TupleType>();
        if (type && type->name()) return type->name()->qualifiedName() + "(" + join(node->inputs()) + ")";
        return "(" + join(node->inputs()) + (node->inputs().size() == 1 ? ",)" : ")");
      }
      case prim::ListConstruct:
        return listLiteral(node);
      case prim::DictConstruct:
        return dictLiteral(node);
      case prim::TupleIndex:
        return "(" + text(node->input(0)) + ")[" + text(node->input(1)) + "]";
      case prim::TupleSlice:
        return "(" + text(node->input(0)) + ")[" + std::to_string(node->i(attr::beg)) + ":" +
               std::to_string(node->i(attr::end)) + "]";
      case prim::CreateObject: {
        const std::string type = annotation(node->output()->type());
        return type + ".__new__(" + type + ")";
      }
      case prim::GetAttr: {
        const std::string& name = node->s(attr::name);
        if (isIdentifier(name)) return receiver(node->input(0)) + "." + name;
        return "getattr(" + text(node->input(0)) + ", " + quoteString(name) + ")";
      }
      case prim::CallFunction:
        return text(node->input(0)) + callArguments(node->inputs(), 1);
      case prim::CallMethod:
        return "(" + text(node->input(0)) + ")." + node->s(attr::name) + callArguments(node->inputs(), 1);
      case prim::isinstance: {
        const auto& types = node->tys(attr::types);
        std::string names;
        for (const TypePtr& type : types) names += (names.empty() ? "" : ", ") + annotation(type);
        return "isinstance(" + text(node->input(0)) + ", " + (types.size() == 1 ? names : "(" + names + ")") + ")";
      }
      case prim::unchecked_cast:
        return "unchecked_cast(" + annotation(node->output()->type()) + ", " + text(node->input(0)) + ")";
      case prim::Uninitialized:
        return "uninitialized(" + annotation(node->output()->type()) + ")";
      case prim::Print:
        return "print(" + join(node->inputs()) + ")";
      case aten::IntImplicit:
        return "annotate(int, " + text(node->input(0)) + ")";
      case aten::FloatImplicit:
        return "annotate(float, " + text(node->input(0)) + ")";
      case aten::ComplexImplicit:
        return "annotate(complex, " + text(node->input(0)) + ")";
      case aten::ScalarImplicit:
        return "annotate(number, " + text(node->input(0)) + ")";
      case aten::Int:
        return "int(" + join(node->inputs()) + ")";
      case aten::Float:
        return "float(" + join(node->inputs()) + ")";
      case aten::Bool:
        return "bool(" + join(node->inputs()) + ")";
      case aten::str:
        return "str(" + join(node->inputs()) + ")";
      case aten::__getitem__:
        return "(" + text(node->input(0)) + ")[" + text(node->input(1)) + "]";
      default:
        return operatorCall(node);
    }
  }

  std::string receiver(const Value* value) {
    const std::string object = text(value);
    return isIdentifier(object) ? object : "(" + object + ")";
  }

  std::string listLiteral(const Node* node) {
    const TypePtr element = node->output()->type()->expectRef<c10::ListType>().getElementType();
    const std::string list = "[" + join(node->inputs()) + "]";
    const bool inferable = node->inputs().empty()
                               ? element->kind() == c10::TypeKind::TensorType
                               : std::all_of(node->inputs().begin(), node->inputs().end(), [&](const Value* v) {
                                   return *v->type() == *element;
                                 });
    return inferable ? list : "annotate(" + annotation(node->output()->type()) + ", " + list + ")";
  }

  std::string dictLiteral(const Node* node) {
    const auto& type = node->output()->type()->expectRef<c10::DictType>();
    std::string items;
    bool inferable = !node->inputs().empty();
    for (size_t i = 0; i + 1 < node->inputs().size(); i += 2) {
      items += (i ? ", " : "") + text(node->input(i)) + ": " + text(node->input(i + 1));
      inferable &= *node->input(i)->type() == *type.getKeyType() && *node->input(i + 1)->type() == *type.getValueType();
    }
    const std::string dict = "{" + items + "}";
    return inferable ? dict : "annotate(" + annotation(node->output()->type()) + ", " + dict + ")";
  }

  std::string operatorCall(const Node* node) {
    const std::string ns = node->kind().ns().toUnqualString(), name = node->kind().toUnqualString();
    std::string result = (ns == "aten" ? "torch." : "ops." + ns + ".") + name + "(";
    const Operator* op = operatorOf(const_cast<Node&>(*node));  // binding is a cache
    if (!op || op->schema().is_vararg()) return result + join(node->inputs()) + ")";
    const auto& arguments = op->schema().arguments();
    // Trailing arguments that hold their default are left out, as people write calls.
    size_t count = std::min(node->inputs().size(), arguments.size());
    while (count > 0 && holdsDefault(node->input(count - 1), arguments[count - 1])) --count;
    for (size_t i = 0; i < count; ++i) {
      if (arguments[i].kwarg_only() && holdsDefault(node->input(i), arguments[i]) &&
          isConstantNode(node->input(i)->node()))
        continue;
      if (result.back() != '(') result += ", ";
      if (arguments[i].kwarg_only()) result += arguments[i].name() + "=";
      result += text(node->input(i));
    }
    return result + ")";
  }

  static bool holdsDefault(const Value* value, const c10::Argument& argument) {
    if (!argument.default_value()) return false;
    if (argument.default_value()->isNone()) return isNoneConstant(value);
    const auto held = toIValue(value);
    if (!held || held->tagKind() != argument.default_value()->tagKind()) return false;
    if (held->isInt()) return held->toInt() == argument.default_value()->toInt();
    if (held->isBool()) return held->toBool() == argument.default_value()->toBool();
    if (held->isDouble()) return held->toDouble() == argument.default_value()->toDouble();
    return held->isString() && held->toStringRef() == argument.default_value()->toStringRef();
  }

  // ---- statements ----

  std::ostream& line() {
    for (int i = 0; i < indent_; ++i) out_ << "  ";
    return out_;
  }

  void printBlock(const Block* block) {
    for (const Node* node : block->nodes()) {
      if (!isConstantNode(node) && !inlined_.contains(node)) printStatement(node);
    }
  }

  void printStatement(const Node* node) {
    switch (node->kind()) {
      case prim::If:
        return printIf(node);
      case prim::Loop:
        return printLoop(node);
      case prim::SetAttr: {
        const std::string& name = node->s(attr::name);
        const std::string object = receiver(node->input(0)), value = text(node->input(1));
        if (isIdentifier(name))
          line() << object << "." << name << " = " << value << "\n";
        else
          line() << "setattr(" << object << ", " << quoteString(name) << ", " << value << ")\n";
        return;
      }
      case prim::TupleUnpack:
      case prim::ListUnpack: {
        const std::string source = text(node->input(0));
        if (node->outputs().empty()) return;
        std::string targets;
        for (const Value* output : node->outputs()) targets += assignName(output) + ", ";
        line() << targets.substr(0, targets.size() - 1) << " = " << source << "\n";
        return;
      }
      case prim::Enter: {
        const std::string context = text(node->input(0));
        line() << "with " << context;
        if (node->output()->hasUses()) out_ << " as " << assignName(node->output());
        out_ << ":\n";
        ++indent_;
        if (node->next()->kind() == prim::Exit) line() << "pass\n";
        return;
      }
      case prim::Exit:
        --indent_;
        return;
      case prim::fork:
        return printFork(node);
      default:
        break;
    }
    const std::string value = expression(node);
    if (node->outputs().empty()) {
      line() << value << "\n";
    } else {
      std::string targets;
      for (const Value* output : node->outputs()) targets += (targets.empty() ? "" : ", ") + assignName(output);
      line() << targets << " = " << value << "\n";
    }
  }

  /// Assigns `values` to the names of `targets`, all at once: a target may be among the values.
  void printAssignments(std::span<Value* const> targets, const std::vector<Value*>& values) {
    std::string names, sources;
    size_t count = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
      const std::string source = text(values[i]);
      if (source == expressions_.at(targets[i])) continue;
      names += (count ? ", " : "") + expressions_.at(targets[i]);
      sources += (count ? ", " : "") + source;
      ++count;
    }
    if (count) line() << names << " = " << sources << "\n";
  }

  void printBranch(const Block* block, std::span<Value* const> targets) {
    ++indent_;
    const auto start = out_.tellp();
    printBlock(block);
    printAssignments(targets, block->outputs().vec());
    if (out_.tellp() == start) line() << "pass\n";
    --indent_;
  }

  void printIf(const Node* node) {
    const std::string condition = text(node->input(0));
    for (const Value* output : node->outputs()) assignName(output);
    line() << "if " << condition << ":\n";
    printBranch(node->blocks()[0], node->outputs());
    line() << "else:\n";
    printBranch(node->blocks()[1], node->outputs());
  }

  /// A loop whose condition is always true is a `for` over a range; one without a bound is a `while`. Any other counts
  /// by hand.
  void printLoop(const Node* node) {
    const Block* body = node->blocks()[0];
    const Value* trip = node->input(0);
    const auto constantTrip = toIValue(trip);
    const auto alwaysTrue = [](const Value* v) {
      const auto c = toIValue(v);
      return c && c->isBool() && c->toBool();
    };
    const bool unbounded = constantTrip && constantTrip->toInt() == std::numeric_limits<int64_t>::max();
    const bool is_for = alwaysTrue(node->input(1)) && alwaysTrue(body->outputs()[0]);
    const std::vector<Value*> outputs = body->outputs().vec();
    const std::vector<Value*> carried_out(outputs.begin() + 1, outputs.end());
    const auto inputs = node->inputs().vec();

    const std::string bound = is_for || !unbounded ? text(trip) : "";
    std::string initial_condition = is_for ? "" : text(inputs[1]);
    // The loop's outputs, the block's inputs and the variables of the source are the same names.
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      expressions_[body->inputs()[i + 1]] = assignName(node->outputs()[i]);
    }
    const std::vector<Value*> initial(inputs.begin() + 2, inputs.end());
    printAssignments(node->outputs(), initial);
    const Value* counter = body->inputs()[0];
    const std::string counter_name = assignName(counter);
    std::string condition_name;
    if (is_for) {
      line() << "for " << counter_name << " in range(" << bound << "):\n";
    } else {
      condition_name = temporary();
      if (!unbounded) initial_condition = "torch.__and__(torch.lt(0, " + bound + "), " + initial_condition + ")";
      line() << condition_name << " = " << initial_condition << "\n";
      if (!unbounded || counter->hasUses()) line() << counter_name << " = 0\n";
      line() << "while " << condition_name << ":\n";
    }
    ++indent_;
    const auto start = out_.tellp();
    printBlock(body);
    if (is_for) {
      printAssignments(node->outputs(), carried_out);
      if (out_.tellp() == start) line() << "pass\n";
    } else {
      std::string names = condition_name, sources = text(outputs[0]);
      if (!unbounded)
        sources = "torch.__and__(torch.lt(torch.add(" + counter_name + ", 1), " + bound + "), " + sources + ")";
      for (size_t i = 0; i < carried_out.size(); ++i) {
        const std::string source = text(carried_out[i]);
        if (source == expressions_.at(node->outputs()[i])) continue;
        names += ", " + expressions_.at(node->outputs()[i]);
        sources += ", " + source;
      }
      if (!unbounded || counter->hasUses()) {
        names += ", " + counter_name;
        sources += ", torch.add(" + counter_name + ", 1)";
      }
      line() << names << " = " << sources << "\n";
    }
    --indent_;
  }

  /// The subgraph is printed as a nested function that captures by name, as torch.jit prints it.
  void printFork(const Node* node) {
    const Graph& body = *node->g(attr::Subgraph);
    const std::string name = uniqueName("__forked_function");
    for (size_t i = 0; i < body.inputs().size(); ++i) expressions_[body.inputs()[i]] = text(node->input(i));
    line() << "def " << name << "():\n";
    ++indent_;
    scanBlock(body.block());
    printBlock(body.block());
    line() << "return " << text(body.outputs()[0]) << "\n";
    --indent_;
    line() << assignName(node->output()) << " = fork(" << name << ")\n";
  }

  Function& function_;
  const Graph& graph_;
  CodeOptions options_;
  std::ostringstream out_;
  int indent_ = 0;
  std::unordered_map<const Value*, std::string> expressions_;  // names, and block inputs' names
  std::unordered_set<const Node*> inlined_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, size_t> next_suffix_;
  size_t next_temporary_ = 0;
  size_t unnamed_constants_ = 0;
};

}  // namespace

std::string printCode(Function& function, CodeOptions options, const std::string& name) {
  return CodePrinter(function, options).print(name.empty() ? function.name() : name);
}

}  // namespace cresset
