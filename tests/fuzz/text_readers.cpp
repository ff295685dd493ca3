// Reading texts, and what must hold of it. See text_readers.h.
#include "text_readers.h"

#include <ATen/core/function_schema.h>

#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>

#include "bounded_call.h"
#include "cresset/frontend/compiler.h"
#include "cresset/frontend/parser.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/schema_text.h"
#include "cresset/ir/verifier.h"
#include "cresset/ops/operator.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

namespace text_readers {

using namespace cresset;

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::logic_error(what);
}

/// What was accepted once is accepted again.
template <typename Read>
void readAgain(const std::string& printed, const Read& read) {
  std::string again;
  try {
    again = read(printed);
  } catch (const UserError& e) {
    fail("what it prints is refused: " + std::string(e.what()) + "\n" + printed);
  }
  if (again != printed) fail("what it prints reads back as something else:\n" + printed + "\nand then\n" + again);
}

std::shared_ptr<Graph> graphOf(const std::string& text) {
  auto graph = parseGraph(text);
  verify(*graph);
  ConstantTable constants;
  readAgain(toString(*graph, {.constants = &constants}), [&](const std::string& printed) {
    auto parsed = parseGraph(printed, {.constants = &constants});
    verify(*parsed);
    ConstantTable again;
    return toString(*parsed, {.constants = &again});
  });
  return graph;
}

std::shared_ptr<Program> programOf(const std::string& text) {
  auto program = Program::make();
  defineSource(*program, std::make_shared<const Source>(text, "fuzz.py"), {});
  for (Function* function : program->functions()) {
    verify(*function->graph());
    function->executable();
  }
  return program;
}

/// Arguments are made up from the text alone, so that a text that breaks a rule does so again.
void callAll(const Program& program, const std::string& text) {
  std::mt19937_64 random(std::hash<std::string>()(text));
  bounded_call::Tally tally;
  for (Function* function : program.functions()) bounded_call::call(*function, random, {}, tally);
  if (!tally.failures.empty()) fail(tally.failures.front());
}

}  // namespace

void readSource(const std::string& text) {
  auto source = std::make_shared<const Source>(text, "fuzz.py");
  try {
    for (const TreeRef& tree : SourceParser(source).parseStatements()) {
      if (tree->range().end > text.size() || tree->toString(true).empty()) fail("a bad tree");
    }
  } catch (const UserError& e) {
    if (!e.range() || e.range().begin > e.range().end || e.range().end > text.size()) fail("an error without a place");
    throw;
  }
}

void readGraph(const std::string& text) {
  graphOf(text);
}

void readType(const std::string& text) {
  auto print = [](const std::string& t) { return cresset::toString(*parseType(t, {}, true)); };
  readAgain(print(text), print);
}

void readSchema(const std::string& text) {
  auto print = [](const std::string& t) { return schemaText(parseSchema(t)); };
  readAgain(print(text), print);
}

void compileSource(const std::string& text) {
  programOf(text);
}

void runGraph(const std::string& text) {
  auto graph = graphOf(text);
  verifyOperators(*graph);
  // A function has one result; other graphs are parts of others.
  if (graph->outputs().size() != 1) return;
  auto program = Program::make();
  program->declare(c10::QualifiedName("f"), [&](Function& function) { function.setGraph(graph); });
  callAll(*program, text);
}

void runSource(const std::string& text) {
  callAll(*programOf(text), text);
}

}  // namespace text_readers
