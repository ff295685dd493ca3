// The printer of one function. Internal to archive/; see code_printer.h.
//
// Every node becomes a statement `name = expression`, except those whose value is used once, by the very next thing
// that is evaluated: they are printed inside the expression that uses them. That keeps the order of evaluation exactly
// as it is in the graph, so no node needs to be known as pure. Values that carry a name of the user's are never folded
// away, unless they only leave a block, where they get another name. Expressions nest at most kMaxInlineDepth deep, so
// that the parser's limit holds for any graph, and recursion follows that depth and the nesting of blocks only.
//
// Printing what was compiled from printed source returns the same text, because the names that the printer makes up
// (`_0`, `_1`, …) count as no names, and all others are unique in the text.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/archive/code_printer.h"
#include "cresset/ir/graph.h"

namespace cresset {

class Operator;

/// As printConstant; `unnamed` counts the constants that have no table to stand in.
std::string printConstant(const c10::IValue& value, const CodeOptions& options, size_t& unnamed);
/// Words that no variable may be called, because code needs their meaning or the language forbids them.
bool isReservedWord(const std::string& name);
/// Those of them whose loss would leave constructs without a spelling; even a parameter may not be called so.
bool isIndispensable(const std::string& name);

/// The statement that a prim::Loop prints as.
enum class LoopKind {
  For,       // `for i in range(n)`: no condition
  ForBreak,  // the same, which ends by `break`: a condition from the body, none before it
  While,     // `while c`: a condition, no bound and no counter
  Counted    // `while c` with a counter of its own: anything else
};
LoopKind loopKindOf(const Node* loop);

class CodePrinter {
 public:
  CodePrinter(CodeText& out, Function& function, int indent, const CodeOptions& options);
  void print(const std::string& name);

 private:
  // ---- which nodes are printed inside others (code_printer.cpp) ----
  static bool isStatement(const Node* node);
  static bool canInline(const Value* value, const Node* user, size_t offset);
  const Node* scanInputs(const Node* node, int depth);
  void scanBlock(const Block* block);

  // ---- names ----
  std::string uniqueName(std::string stem);
  std::string temporary();
  const std::string& assignName(const Value* value);
  void claimOuterNames(const Block* block);

  // ---- statements (code_statements.cpp) ----
  void startLine();
  void printBlock(const Block* block);
  void printStatement(const Node* node);
  void printTargets(const Node* node);
  void printSetAttr(const Node* node);
  void printIf(const Node* node);
  void printBranch(const Node* node, size_t branch);
  /// Whether an output of a prim::If has the type that its branches have in common in code.
  bool isTypeOfBranches(const Node* node, size_t output) const;
  void printLoop(const Node* node);
  void printFork(const Node* node);
  void printEnter(const Node* node);
  void printExit(const Node* node);
  [[noreturn]] static void failUnstructured(const Node* node);
  /// `name = value`, as a value of type `type`.
  void printAssignment(const std::string& name, const Value* value, const TypePtr& type);
  struct LoopForm;
  void printInitial(const Node* node, const LoopForm& form);
  void printUpdates(const Node* node, const LoopForm& form);

  // ---- expressions (code_expressions.cpp) ----
  /// The value that it is another name of, or itself: loops pass through what they do not change.
  const Value* original(const Value* value) const;
  void write(const Value* value);
  /// As a value whose static type is `type` when it is compiled.
  void writeAs(const Value* value, const TypePtr& type);
  void writeExpression(const Node* node);
  void writeOperatorCall(const Node* node);
  void writeListLiteral(const Node* node);
  void writeTupleLiteral(const Node* node);
  void writeAttribute(const Node* node);
  void writeMethodCall(const Node* node);
  /// Conversions that code has names of its own for; false if the node is none.
  bool writeUnwrapped(const Node* node);
  bool writeByTable(const Node* node);
  void writeElement(const TypePtr& wanted, Value* value);
  void writeDictLiteral(const Node* node);
  void writeIsInstance(const Node* node);
  void writePythonCall(const Node* node);
  void writeCall(const char* function, const Node* node);
  void writeAnnotated(const TypePtr& type, const Value* value);
  void writeList(InputRange inputs, size_t from = 0);
  void writeCallOf(const c10::FunctionSchema* callee, const Node* node);
  void writeReceiver(const Value* value);
  std::string constantText(const Value* value);
  std::string calleeName(const Node* node);
  std::string annotation(const TypePtr& type) { return names_.annotation(type); }

  CodeText& out_;
  Function& function_;
  const Graph& graph_;
  const CodeOptions& options_;
  CodeNames default_names_;
  CodeNames& names_;
  int indent_;
  struct With {
    const Node* enter;
    size_t start;  // of its body in the text
  };
  std::vector<With> withs_;                                    // that are open, innermost last
  size_t first_with_ = 0;                                      // of the block that is being printed
  std::unordered_map<const Value*, std::string> expressions_;  // names, and block inputs' names
  std::unordered_map<const Value*, const Value*> same_as_;     // one step of the way to `original`
  std::unordered_set<const Node*> inlined_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, size_t> next_suffix_;
  std::unordered_set<std::string> hidden_words_;  // builtin functions that a parameter's name hides
  size_t next_temporary_ = 0;
  size_t unnamed_constants_ = 0;
};

/// The type that the compiler gives a value where it stands alone.
TypePtr typeInCode(const Value* value);
/// Whether a value carries a name that the printer did not make up.
bool hasUserName(const Value* value);
/// `a` and `b` are written as the same annotation.
bool sameAnnotation(const TypePtr& a, const TypePtr& b);
inline bool isConstantNode(const Node* node) {
  return node->kind() == prim::Constant;
}

}  // namespace cresset
