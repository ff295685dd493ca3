// Statements: assignments, branches, loops, `with`, forks. See code_printer_impl.h.
//
// Variables are assigned one by one: an assignment of several at once would be a tuple in the graph. Where a loop's
// variables take each other's values, the old ones are kept under further names first, which costs no node.
#include <ATen/core/class_type.h>

#include <limits>
#include <utility>

#include "cresset/archive/code_printer_impl.h"
#include "cresset/ir/constants.h"
#include "cresset/support/error.h"
#include "cresset/support/string_literal.h"

namespace cresset {

namespace {

bool isAlwaysTrue(const Value* value) {
  const auto constant = toIValue(value);
  return constant && constant->isBool() && constant->toBool();
}

}  // namespace

LoopKind loopKindOf(const Node* loop) {
  const Block* body = loop->blocks()[0];
  const auto trip = toIValue(loop->input(0));
  const bool unbounded = trip && trip->isInt() && trip->toInt() == std::numeric_limits<int64_t>::max();
  if (unbounded && !body->inputs()[0]->hasUses()) return LoopKind::While;
  if (!isAlwaysTrue(loop->input(1))) return LoopKind::Counted;
  return isAlwaysTrue(body->outputs()[0]) ? LoopKind::For : LoopKind::ForBreak;
}

namespace {

/// What a value is another name of: inner loops pass through what they do not change.
const Value* handedOn(const Value* value) {
  while (value->node()->kind() == prim::Loop) {
    const Block* body = value->node()->blocks()[0];
    const size_t i = value->offset() + 1;
    if (handedOn(body->outputs()[i]) != body->inputs()[i]) break;
    value = value->node()->input(i + 1);
  }
  return value;
}

}  // namespace

struct CodePrinter::LoopForm {
  LoopKind kind;
  std::string condition = {};                       // While, Counted: the variable
  std::string counter = {};                         // unless While
  std::unordered_set<const Value*> unchanged = {};  // body inputs that the body returns unchanged

  static LoopForm of(const Node* node) {
    const Block* body = node->blocks()[0];
    LoopForm form{loopKindOf(node)};
    for (size_t i = 1; i < body->inputs().size(); ++i) {
      if (handedOn(body->outputs()[i]) == body->inputs()[i]) form.unchanged.insert(body->inputs()[i]);
    }
    return form;
  }
};

void CodePrinter::startLine() {
  for (int i = 0; i < indent_; ++i) out_ << "  ";
}

void CodePrinter::printBlock(const Block* block) {
  const size_t outer = std::exchange(first_with_, withs_.size());
  for (const Node* node : block->nodes()) {
    if (!isConstantNode(node) && !inlined_.contains(node)) printStatement(node);
  }
  if (withs_.size() != first_with_) failUnstructured(withs_.back().enter);
  first_with_ = outer;
}

void CodePrinter::printStatement(const Node* node) {
  CodeText::Place place(out_, node->sourceRange());
  switch (node->kind()) {
    case prim::If:
      return printIf(node);
    case prim::Loop:
      return printLoop(node);
    case prim::SetAttr:
      return printSetAttr(node);
    case prim::Enter:
      return printEnter(node);
    case prim::Exit:
      return printExit(node);
    case prim::fork:
    case prim::awaitable:
      return printFork(node);
    default:
      break;
  }
  startLine();
  if (!node->outputs().empty()) {
    printTargets(node);
    out_ << " = ";
  }
  writeExpression(node);
  out_ << "\n";
}

void CodePrinter::printTargets(const Node* node) {
  const bool unpacks = node->kind() == prim::TupleUnpack || node->kind() == prim::ListUnpack;
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    if (i) out_ << ", ";
    out_ << assignName(node->outputs()[i]);
  }
  if (unpacks && node->outputs().size() == 1) out_ << ",";
}

void CodePrinter::printSetAttr(const Node* node) {
  const std::string& name = node->s(attr::name);
  startLine();
  if (isCodeIdentifier(name)) {
    writeReceiver(node->input(0));
    out_ << "." << name << " = ";
    write(node->input(1));
  } else {
    out_ << "setattr(";
    write(node->input(0));
    out_ << ", " << quoteString(name) << ", ";
    write(node->input(1));
    out_ << ")";
  }
  out_ << "\n";
}

// ---- with ----

void CodePrinter::failUnstructured(const Node* node) {
  throw UserError(
      "This graph can't be printed as code: its prim::Enter and prim::Exit do not pair up as `with` statements do.",
      node->sourceRange());
}

void CodePrinter::printEnter(const Node* node) {
  startLine();
  out_ << "with ";
  write(node->input(0));
  if (node->output()->hasUses()) out_ << " as " << assignName(node->output());
  out_ << ":\n";
  ++indent_;
  withs_.push_back({node, out_.size()});
}

void CodePrinter::printExit(const Node* node) {
  if (withs_.size() == first_with_ || withs_.back().enter->input(0) != node->input(0)) failUnstructured(node);
  if (out_.size() == withs_.back().start) {
    startLine();
    out_ << "pass\n";
  }
  --indent_;
  withs_.pop_back();
}

void CodePrinter::printAssignment(const std::string& name, const Value* value, const TypePtr& type) {
  startLine();
  out_ << name << " = ";
  writeAs(value, type);
  out_ << "\n";
}

// ---- branches ----

void CodePrinter::printIf(const Node* node) {
  const Value* condition = original(node->input(0));
  std::string variable;
  if (isConstant(condition)) {
    // The compiler decides `if True` at once; of a variable it asks nothing.
    variable = temporary();
    startLine();
    out_ << variable << " = ";
    write(condition);
    out_ << "\n";
  }
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const std::string& name = assignName(node->outputs()[i]);
    // torch.jit joins branches to a Union only for a variable that had this type before.
    if (node->outputs()[i]->type()->kind() != c10::TypeKind::UnionType || isTypeOfBranches(node, i)) continue;
    startLine();
    out_ << name << " = uninitialized(" << annotation(node->outputs()[i]->type()) << ")\n";
  }
  startLine();
  out_ << "if ";
  if (variable.empty())
    write(condition);
  else
    out_ << variable;
  out_ << ":\n";
  printBranch(node, 0);
  startLine();
  out_ << "else:\n";
  printBranch(node, 1);
}

bool CodePrinter::isTypeOfBranches(const Node* node, size_t output) const {
  const auto& blocks = node->blocks();
  const auto unified =
      c10::unifyTypes(typeInCode(blocks[0]->outputs()[output]), typeInCode(blocks[1]->outputs()[output]));
  return unified && sameAnnotation(*unified, node->outputs()[output]->type());
}

void CodePrinter::printBranch(const Node* node, size_t branch) {
  const Block* block = node->blocks()[branch];
  ++indent_;
  const size_t start = out_.size();
  printBlock(block);
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const TypePtr& type = node->outputs()[i]->type();
    const Value* value = block->outputs()[i];
    printAssignment(expressions_.at(node->outputs()[i]), value, isTypeOfBranches(node, i) ? typeInCode(value) : type);
  }
  if (out_.size() == start) {
    startLine();
    out_ << "pass\n";
  }
  --indent_;
}

// ---- loops ----

void CodePrinter::printLoop(const Node* node) {
  const Block* body = node->blocks()[0];
  LoopForm form = LoopForm::of(node);
  printInitial(node, form);
  const Value* counter = body->inputs()[0];
  if (form.kind != LoopKind::While) form.counter = assignName(counter);
  if (form.kind == LoopKind::For || form.kind == LoopKind::ForBreak) {
    startLine();
    out_ << "for " << form.counter << " in range(";
    write(node->input(0));
    out_ << "):\n";
  } else {
    form.condition = temporary();
    startLine();
    out_ << form.condition << " = ";
    if (form.kind == LoopKind::Counted) {
      out_ << "torch.__and__(torch.lt(0, ";
      write(node->input(0));
      out_ << "), ";
      write(node->input(1));
      out_ << ")\n";
      startLine();
      out_ << form.counter << " = 0\n";
    } else {
      write(node->input(1));
      out_ << "\n";
    }
    startLine();
    out_ << "while " << form.condition << ":\n";
  }
  ++indent_;
  const size_t start = out_.size();
  printBlock(body);
  printUpdates(node, form);
  if (out_.size() == start) {
    startLine();
    out_ << "pass\n";
  }
  --indent_;
}

/// The loop's outputs, its body's inputs and the variables of the source are the same names.
void CodePrinter::printInitial(const Node* node, const LoopForm& form) {
  const Block* body = node->blocks()[0];
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const Value* output = node->outputs()[i];
    const Value* input = body->inputs()[i + 1];
    const Value* initial = node->input(i + 2);
    if (form.unchanged.contains(input)) {
      // No variable of the loop: what it was before, under the name that this has when it is read.
      same_as_[output] = same_as_[input] = initial;
      continue;
    }
    const std::string name = assignName(hasUserName(output) || !hasUserName(input) ? output : input);
    expressions_[output] = expressions_[input] = name;
    printAssignment(name, initial, output->type());
  }
}

void CodePrinter::printUpdates(const Node* node, const LoopForm& form) {
  const Block* body = node->blocks()[0];
  const size_t count = node->outputs().size();
  // The variables that each new value is computed from.
  std::unordered_map<const Value*, size_t> last_use;  // of a body input: the last update that reads it
  std::unordered_map<const Value*, bool> is_input;
  for (const Value* input : body->inputs()) is_input[input] = true;
  const auto noteUses = [&](const Value* given, size_t update, const auto& self) -> void {
    const Value* value = original(given);
    if (is_input.contains(value)) {
      last_use[value] = update;
    } else if (inlined_.contains(value->node())) {
      for (const Value* input : value->node()->inputs()) self(input, update, self);
    }
  };
  for (size_t i = 0; i < count; ++i) noteUses(body->outputs()[i + 1], i + 1, noteUses);

  const Value* next = original(body->outputs()[0]);
  std::string condition = form.condition;
  if (form.kind == LoopKind::ForBreak) {
    // Its name must not be one of those that are about to change.
    const auto known = expressions_.find(next);
    const bool stable = known != expressions_.end() && !is_input.contains(next);
    condition = stable ? known->second : temporary();
    if (!stable) printAssignment(condition, next, typeInCode(next));
  } else if (form.kind == LoopKind::While) {
    printAssignment(condition, next, typeInCode(next));
  } else if (form.kind == LoopKind::Counted) {
    startLine();
    out_ << condition << " = torch.__and__(torch.lt(torch.add(" << form.counter << ", 1), ";
    write(node->input(0));
    out_ << "), ";
    write(next);
    out_ << ")\n";
  }
  for (size_t i = 0; i < count; ++i) {
    const Value* input = body->inputs()[i + 1];
    if (form.unchanged.contains(input)) continue;
    const std::string name = expressions_.at(node->outputs()[i]);
    const auto use = last_use.find(input);
    if (use != last_use.end() && use->second > i + 1) {
      // A later update still needs the old value.
      const std::string kept = temporary();
      startLine();
      out_ << kept << " = " << name << "\n";
      expressions_[input] = kept;
    }
    printAssignment(name, body->outputs()[i + 1], typeInCode(body->outputs()[i + 1]));
  }
  if (form.kind == LoopKind::Counted) {
    startLine();
    out_ << form.counter << " = torch.add(" << form.counter << ", 1)\n";
  } else if (form.kind == LoopKind::ForBreak) {
    startLine();
    out_ << "if " << condition << ":\n";
    ++indent_;
    startLine();
    out_ << "pass\n";
    --indent_;
    startLine();
    out_ << "else:\n";
    ++indent_;
    startLine();
    out_ << "break\n";
    --indent_;
  }
}

// ---- forks, awaitables ----

/// The subgraph is printed as a nested function that captures by name, as torch.jit prints it.
void CodePrinter::printFork(const Node* node) {
  const Graph& body = *node->g(attr::Subgraph);
  const bool is_fork = node->kind() == prim::fork;
  const std::string name = uniqueName(is_fork ? "__forked_function" : "__awaitable_function");
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const Value* captured = original(node->input(i));
    expressions_[body.inputs()[i]] = isConstant(captured) ? constantText(captured) : expressions_.at(captured);
  }
  startLine();
  out_ << "def " << name << "():\n";
  ++indent_;
  scanBlock(body.block());
  printBlock(body.block());
  startLine();
  out_ << "return ";
  write(body.outputs()[0]);
  out_ << "\n";
  --indent_;
  startLine();
  out_ << assignName(node->output()) << (is_fork ? " = fork(" : " = awaitable(") << name << ")\n";
}

}  // namespace cresset
