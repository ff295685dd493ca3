// Which nodes become statements, and what values are called. See code_printer_impl.h.
#include "cresset/archive/code_printer.h"

#include <ATen/core/class_type.h>

#include <algorithm>

#include "cresset/archive/code_printer_impl.h"
#include "cresset/ir/structure.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Recursion is over the nesting of the literal that a default was.
bool holdsTensors(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined();
  if (!value.isTuple()) return false;
  const auto& elements = value.toTupleRef().elements();
  return std::any_of(elements.begin(), elements.end(), holdsTensors);
}

constexpr int kMaxInlineDepth = 20;

const std::unordered_set<std::string>& keywords() {
  static const std::unordered_set<std::string> kWords = {
      "and",    "as",     "assert", "async",  "await", "break",    "class",  "continue", "def",
      "del",    "elif",   "else",   "except", "for",   "from",     "global", "finally",  "if",
      "import", "in",     "is",     "lambda", "None",  "nonlocal", "not",    "or",       "pass",
      "raise",  "return", "True",   "False",  "try",   "while",    "with",   "yield"};
  return kWords;
}

const std::unordered_set<std::string>& indispensable() {
  static const std::unordered_set<std::string> kWords = {
      "torch",          "ops",       "CONSTANTS", "annotate",  "uninitialized", "getattr",
      "setattr",        "__torch__", "fork",      "awaitable", "range",         "isinstance",
      "unchecked_cast", "inf",       "nan",       "infj",      "nanj",          "print"};
  return kWords;
}

const std::unordered_set<std::string>& builtins() {
  static const std::unordered_set<std::string> kWords = {
      "int",      "float", "bool",   "str",    "complex",   "len",      "list",   "dict",  "tuple",   "min",
      "max",      "abs",   "sorted", "zip",    "enumerate", "device",   "Tensor", "List",  "Dict",    "Tuple",
      "Optional", "Union", "Any",    "Future", "Await",     "NoneType", "type",   "super", "hasattr", "wait"};
  return kWords;
}

bool isWord(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

/// `_12`: a name that the printer makes up.
bool isTemporary(const std::string& name) {
  return name.size() > 1 && name[0] == '_' &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::string firstAtom(const std::string& qualified) {
  return qualified.substr(0, qualified.find('.'));
}

}  // namespace

bool hasUserName(const Value* value) {
  return value->hasDebugName() && !isTemporary(value->debugName().substr(0, value->debugName().find('.')));
}

bool isReservedWord(const std::string& name) {
  return keywords().contains(name) || indispensable().contains(name) || builtins().contains(name);
}

bool isIndispensable(const std::string& name) {
  return keywords().contains(name) || indispensable().contains(name);
}

bool isCodeIdentifier(const std::string& name) {
  return isWord(name) && !keywords().contains(name);
}

bool sameAnnotation(const TypePtr& a, const TypePtr& b) {
  return a.get() == b.get() || *a == *b || a->annotation_str() == b->annotation_str();
}

CodePrinter::CodePrinter(CodeText& out, Function& function, int indent, const CodeOptions& options)
    : out_(out),
      function_(function),
      graph_(*function.definition()),
      options_(options),
      names_(options.names ? *options.names : default_names_),
      indent_(indent) {}

void CodePrinter::print(const std::string& name) {
  const c10::FunctionSchema& schema = function_.getSchema();
  CodeText::Place place(out_, function_.sourceRange());
  claimOuterNames(graph_.block());
  startLine();
  out_ << "def " << name << "(";
  bool kwarg_only = false;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    std::string parameter = argument.name();
    if (!isWord(parameter) || isIndispensable(parameter)) {
      parameter = uniqueName(parameter);
    } else {
      used_.insert(parameter);
      if (builtins().contains(parameter)) hidden_words_.insert(parameter);
    }
    expressions_[graph_.inputs()[i]] = parameter;
    if (i) out_ << ",\n    ";
    if (argument.kwarg_only() && !kwarg_only) out_ << "*,\n    ";
    kwarg_only |= argument.kwarg_only();
    out_ << parameter;
    if (i > 0 || options_.type_of_first) out_ << ": " << annotation(argument.type());
    if (argument.default_value()) {
      // A default is evaluated once, so a list in it may be written as one. Tensors have no literals.
      CodeOptions literals = options_;
      literals.literal_containers = true;
      if (!holdsTensors(*argument.default_value())) literals.constants = nullptr;
      out_ << "=" << printConstant(*argument.default_value(), literals);
    }
  }
  const auto& returns = schema.returns();
  out_ << ") -> " << annotation(returns.empty() ? TypePtr(c10::NoneType::get()) : returns[0].type()) << ":\n";
  ++indent_;
  scanBlock(graph_.block());
  printBlock(graph_.block());
  startLine();
  out_ << "return ";
  if (graph_.outputs().size() == 1) {
    write(graph_.outputs()[0]);
  } else if (graph_.outputs().empty()) {
    out_ << "None";
  } else {
    out_ << "(";
    writeList(graph_.outputs());
    out_ << ")";
  }
  out_ << "\n";
  --indent_;
}

// ---- which nodes are printed inside others ----

namespace {

const Node* previous(const Node* node) {
  do node = node->prev();
  while (isConstantNode(node));
  return node;
}

}  // namespace

bool CodePrinter::isStatement(const Node* node) {
  // An unpacking of one element has an assignment's form (`x, = pair`), as every other.
  return node->outputs().size() != 1 || !node->blocks().empty() || node->kind() == prim::Enter ||
         node->kind() == prim::Exit || runsApart(*node) || node->kind() == prim::Uninitialized ||
         node->kind() == prim::TupleUnpack || node->kind() == prim::ListUnpack;
}

bool CodePrinter::canInline(const Value* value, const Node* user, size_t offset) {
  const Node* node = value->node();
  if (isStatement(node) || value->uses().size() != 1) return false;
  // What leaves a block gets the name of what it becomes there.
  if (hasUserName(value) && !user->isReturn()) return false;
  // A loop's variables have their first values before its bound and condition are looked at; the body of a fork refers
  // to what it captures by name.
  if (user->kind() == prim::Loop && offset >= 2) return false;
  if (runsApart(*user)) return false;
  // A loop that counts by hand names its bound in every round.
  if (user->kind() == prim::Loop && offset == 0 && loopKindOf(user) == LoopKind::Counted) return false;
  // The compiler would learn types from it, which the graph says by casts of its own.
  if (user->kind() == prim::If && node->kind() == prim::isinstance) return false;
  return true;
}

/// Marks what is printed inside `node`; returns the node that is evaluated right before all that.
const Node* CodePrinter::scanInputs(const Node* node, int depth) {
  const Node* point = previous(node);
  const size_t count = node->inputs().size();
  for (size_t i = 0; i < count; ++i) {
    // From the last input that is evaluated to the first. An assignment evaluates its value before the object.
    const size_t index = node->kind() == prim::SetAttr ? i : count - 1 - i;
    const Value* input = node->input(index);
    if (input->node() == point && depth < kMaxInlineDepth && canInline(input, node, index)) {
      inlined_.insert(point);
      point = scanInputs(point, depth + 1);
    }
  }
  return point;
}

void CodePrinter::scanBlock(const Block* block) {
  scanInputs(block->returnNode(), 0);
  for (const Node* node = block->returnNode()->prev(); node != block->returnNode(); node = node->prev()) {
    if (isConstantNode(node) || inlined_.contains(node)) continue;
    scanInputs(node, 0);
    for (const Block* inner : node->blocks()) scanBlock(inner);
  }
}

// ---- names ----

std::string CodePrinter::uniqueName(std::string stem) {
  stem = stem.substr(0, stem.find('.'));
  if (!isWord(stem) || isReservedWord(stem) || isTemporary(stem)) stem = "_" + stem;
  if (!isWord(stem)) stem = "_v";
  std::string name = stem;
  for (size_t& next = next_suffix_[stem]; !used_.insert(name).second;) name = stem + std::to_string(next++);
  return name;
}

std::string CodePrinter::temporary() {
  std::string name;
  do name = "_" + std::to_string(next_temporary_++);
  while (!used_.insert(name).second);
  return name;
}

const std::string& CodePrinter::assignName(const Value* value) {
  return expressions_[value] = hasUserName(value) ? uniqueName(value->debugName()) : temporary();
}

/// Functions and classes that stand outside keep their names, so no variable may have one.
void CodePrinter::claimOuterNames(const Block* block) {
  for (const Node* node : block->nodes()) {
    for (const Value* output : node->outputs()) {
      if (auto function = output->type()->cast<c10::FunctionType>()) {
        used_.insert(firstAtom(names_.ofFunction(*function->function())));
      } else if (node->kind() == prim::CreateObject || node->kind() == prim::TupleConstruct) {
        if (auto named = namedType(output->type())) used_.insert(firstAtom(names_.ofType(named)));
      }
    }
    for (const Block* inner : node->blocks()) claimOuterNames(inner);
    if (runsApart(*node)) claimOuterNames(node->g(attr::Subgraph)->block());
  }
}

void printCode(CodeText& out, Function& function, const std::string& name, int indent, const CodeOptions& options) {
  CodePrinter(out, function, indent, options).print(name);
}

std::string printCode(Function& function, CodeOptions options, const std::string& name) {
  CodeText out;
  printCode(out, function, name.empty() ? function.name() : name, 0, options);
  return out.text();
}

}  // namespace cresset
