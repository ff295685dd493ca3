// Graphs as TorchScript source that compiles back to the same graph.
//
// The source is what archives hold and what people read, and torch.jit reads it too. Compiling it makes the same nodes
// in the same order, and printing that makes the same text again, for every graph in the form that the front end
// leaves: without unused constructions (frontend/tidy.h) and loops that both count and carry a condition from before
// them, which no statement of the language is; these print as an equivalent `while`.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/archive/code_names.h"
#include "cresset/archive/code_text.h"
#include "cresset/program/program.h"

namespace cresset {

/// The constants that code refers to as CONSTANTS.c0, ….
struct CodeConstants {
  std::vector<c10::IValue> values;
  /// The number of a constant; the same tensor or object has one number.
  size_t number(const c10::IValue& value);

 private:
  std::unordered_map<const void*, size_t> known_;
};

struct CodeOptions {
  /// Where constants go that no literal says exactly: tensors, and lists, dicts and tuples, whose literals would be
  /// nodes that make them anew. Null: the latter are printed as literals, for people; tensors only by their number.
  CodeConstants* constants = nullptr;
  /// Literals for lists, dicts and tuples all the same.
  bool literal_containers = false;
  /// Whether the first parameter says its type. Archives need that for `self`; people know it.
  bool type_of_first = true;
  /// Null: qualified names.
  CodeNames* names = nullptr;
  /// Whether calls of Python functions are an error, that names their line, instead of `^name(…)`.
  bool importable = false;
};

/// `def name(...)` with the body of the function's graph. `name` defaults to the function's own.
std::string printCode(Function& function, CodeOptions options = {}, const std::string& name = "");
/// The same, appended to `out` with `indent` levels of indentation.
void printCode(CodeText& out, Function& function, const std::string& name, int indent, const CodeOptions& options);

/// A constant as source: a literal where there is one, else CONSTANTS.cN.
std::string printConstant(const c10::IValue& value, const CodeOptions& options);
/// Whether code may use this as the name of an attribute or a field.
bool isCodeIdentifier(const std::string& name);

}  // namespace cresset
