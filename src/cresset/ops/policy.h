// Which operators an untrusted program may call.
//
// Each operator has a restriction, a column of the operator table: rows of Cresset's own state it, operators of the
// dispatcher get it by rules over namespace, name and schema. A policy refuses what is restricted, but for names that
// whoever loads the program allows. docs/decisions/0003-untrusted-programs.md has the reasons.
//
// Thread-safety: immutable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ops/operator.h"

namespace cresset {

/// By which way a program was loaded: messages name the options of that way.
enum class Door : uint8_t { Cpp, Python, Command };
/// What says there that the program is trusted, and that an operator or class is allowed.
std::string howToTrust(Door door);
std::string howToAllow(Door door, std::string_view name);

/// The restriction of an operator of the dispatcher.
Restriction restrictionOf(const c10::FunctionSchema& schema);
/// "it reads or writes files", for messages; "" for None.
std::string_view reasonOf(Restriction restriction);

class OperatorPolicy {
 public:
  /// `allowed` are names of operators ("aten::from_file", all overloads, or one: "aten::set_.source_Storage") and of
  /// C++ classes ("torch.classes.mylib.Store"); a `*` at the end stands for any rest. Throws UserError on other text.
  explicit OperatorPolicy(std::vector<std::string> allowed, Door door = Door::Cpp);

  bool allows(const Operator& op) const;
  /// Throws UserError that points to the first node that calls a refused operator or has an object of a refused C++
  /// class, in forked graphs too.
  void check(Graph& graph) const;
  /// `qualified_name` is "__torch__.torch.classes.NAMESPACE.NAME". Throws UserError if the class is refused.
  void checkClass(std::string_view qualified_name, const SourceRange& range) const;

 private:
  bool isNamed(std::string_view name) const;
  void checkBlock(Block& block) const;
  void checkClasses(const Node& node) const;
  std::vector<std::string> allowed_;
  Door door_;
};

}  // namespace cresset
