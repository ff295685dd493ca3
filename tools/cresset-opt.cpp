// cresset-opt: the stages of the compiler by themselves, text in, text out.
#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <sstream>

#include "cresset/analysis/alias.h"
#include "cresset/frontend/compiler.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_description.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipeline.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"
#include "graph_rewrites.h"
#include "syntax_printing.h"

#ifndef CRESSET_VERSION
#define CRESSET_VERSION "unknown"
#endif

using namespace cresset;

namespace {

struct Arguments {
  std::string file = "-";
  bool print_tokens = false, parse_ir = false, verify_only = false, compile = false, no_source_ranges = false;
  bool print_code = false;
  bool print_alias = false;
  std::string tree_style, operator_name;
  bool print_operators = false;
  std::string function;
  std::vector<std::string> passes;
  std::string pass_options;
  std::vector<std::string> options;
};

std::string readText(const std::string& file) {
  std::stringstream buffer;
  if (file == "-") {
    buffer << std::cin.rdbuf();
    return buffer.str();
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": can't be read");
  buffer << in.rdbuf();
  return buffer.str();
}

std::vector<const PassInfo*> findPasses(const std::vector<std::string>& names) {
  std::vector<const PassInfo*> passes;
  for (const std::string& name : names) {
    const PassInfo* pass = findPassOrRewrite(name);
    if (pass == nullptr) {
      std::string message = "there is no pass '" + name + "'; the passes are:";
      for (const PassInfo* p : passesAndRewrites())
        message += "\n  " + std::string(p->name) + "  " + std::string(p->description);
      throw std::runtime_error(message);
    }
    passes.push_back(pass);
  }
  return passes;
}

/// What was asked for, and the graph verified after each pass, so that the pass that breaks one is named.
PassOptions optionsOf(const Arguments& arguments) {
  PassOptions options = arguments.pass_options.empty() ? passOptions() : parsePassOptions(arguments.pass_options);
  options.verify = true;
  return options;
}

void rewriteAndPrint(
    const std::shared_ptr<Graph>& graph, const std::string& name, const std::vector<const PassInfo*>& passes,
    const Arguments& arguments) {
  for (const PassInfo* pass : passes) runPass(*pass, *graph, name);
  if (arguments.verify_only) return;
  if (arguments.print_code) {
    std::cout << disassemble(*emitCode(graph, name));
    return;
  }
  if (arguments.print_alias) {
    std::cout << AliasDb(*graph).toString();
    return;
  }
  std::string text = toString(*graph, {.source_ranges = !arguments.no_source_ranges});
  std::cout << text;
  if (!text.empty() && text.back() != '\n') std::cout << '\n';
}

void compileSource(const std::shared_ptr<const Source>& source, const Arguments& arguments) {
  auto passes = findPasses(arguments.passes);
  auto program = Program::make();
  defineSource(*program, source, {});
  std::vector<Function*> functions;
  std::string known;
  for (Function* f : program->functions()) {
    const std::string& name = f->qualname().qualifiedName();
    known += " " + name;
    if (arguments.function.empty() || name == arguments.function || f->name() == arguments.function)
      functions.push_back(f);
  }
  if (functions.empty() && !arguments.function.empty()) {
    throw std::runtime_error("there is no function '" + arguments.function + "'; the functions are:" + known);
  }
  for (Function* f : functions) {
    const std::string& full_name = f->qualname().qualifiedName();
    if (functions.size() > 1 && !arguments.print_code) std::cout << "# " << full_name << "\n";
    rewriteAndPrint(f->graph(), full_name, passes, arguments);
  }
}

void run(const Arguments& arguments) {
  checkOptionsOfEnvironment();
  setOptions(parseOptions(arguments.options));
  if (!arguments.operator_name.empty() || arguments.print_operators) {
    std::cout << (arguments.print_operators ? operatorsAsMarkdown() : describeOperators(arguments.operator_name));
    return;
  }
  setPassOptions(optionsOf(arguments));
  std::string text = readText(arguments.file);
  std::string name = arguments.file == "-" ? "<stdin>" : arguments.file;
  if (arguments.print_tokens || !arguments.tree_style.empty() || arguments.compile) {
    auto source = std::make_shared<const Source>(std::move(text), name);
    if (arguments.print_tokens) std::cout << tools::printTokens(source);
    if (!arguments.tree_style.empty()) {
      using Style = tools::TreeStyle;
      const std::string& s = arguments.tree_style;
      std::cout << tools::printTrees(source, s == "flat" ? Style::Flat : s == "ranges" ? Style::Ranges : Style::Pretty);
    }
    if (arguments.compile) compileSource(source, arguments);
    return;
  }
  auto passes = findPasses(arguments.passes);
  auto graph = parseGraph(text, {.file = name, .result_types = resultTypes});
  verifyEdited(*graph);  // a text may nest as deeply as an edit
  rewriteAndPrint(graph, name, passes, arguments);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cresset's compiler, stage by stage. Reads a file or standard input, writes text.");
  app.footer(
      std::string(
          "Without a mode, the input is a graph: it is parsed, verified, rewritten by --passes, and printed.\n\n") +
      "Examples:\n"
      "  echo 'x + y * 2' | cresset-opt --print-tree       what a program is read as\n"
      "  cresset-opt --print-tokens model.py               how it is split\n"
      "  cresset-opt --compile model.py                    the graph of each function\n"
      "  cresset-opt --compile --function forward --passes inline,cse model.py\n"
      "  cresset-opt --compile --print-code model.py       the instructions of each function\n"
      "  cresset-opt --verify graph.ir                     nothing, or what is wrong and where\n"
      "  cresset-opt --compile f.py | cresset-opt          graphs print as text that reads back\n"
      "  cresset-opt --operator aten::relu                 what the compiler knows of an operator\n\n" +
      optionsAsHelp());
  Arguments arguments;
  auto* modes = app.add_option_group("Modes");
  modes->add_flag("--print-tokens", arguments.print_tokens, "A source: its tokens");
  modes
      ->add_flag(
          "--print-tree{pretty}", arguments.tree_style,
          "A source: its trees; =flat, =ranges: one per line, with places")
      ->check(CLI::IsMember({"pretty", "flat", "ranges"}));
  modes->add_flag("--compile", arguments.compile, "A source: the graph of each function");
  modes->add_flag("--parse-ir", arguments.parse_ir, "A graph: parsed, verified and printed (the default)");
  modes->add_flag("--verify", arguments.verify_only, "As --compile or --parse-ir, but nothing is printed");
  modes
      ->add_option(
          "--operator", arguments.operator_name,
          "No input: what is known of an operator (aten::relu) or an overload (aten::add.Tensor)")
      ->type_name("NAME");
  modes->add_flag(
      "--operators", arguments.print_operators, "No input: the operator table, as docs/operators.md has it");
  modes->require_option(0, 2);
  app.add_option("--function", arguments.function, "With --compile: only this function, by name or qualified name");
  app.add_option("--passes", arguments.passes, "Passes to run, in this order: a,b,c; a wrong name lists them")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option(
      "--pass-options", arguments.pass_options,
      "How passes are watched, joined by commas: dump=PASS+PASS, disable=PASS+PASS, fail=PASS+PASS, limit=NUMBER, "
      "verify, time; as --option passes=…");
  app.add_option("--option", arguments.options, "Sets an option of the process, see below")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag(
      "--print-code", arguments.print_code, "Instead of each graph, the instructions that the interpreter runs");
  app.add_flag(
      "--print-alias", arguments.print_alias,
      "Instead of each graph, which memory each value may be, and what is written");
  app.add_flag(
      "--no-source-ranges", arguments.no_source_ranges, "Print graphs without the places their nodes come from");
  app.add_option("file", arguments.file, "The input; - is standard input")->type_name("FILE");
  app.set_version_flag("--version", "cresset-opt " CRESSET_VERSION);
  CLI11_PARSE(app, argc, argv);
  try {
    run(arguments);
    if (passOptions().time) std::cerr << passFiguresText();
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
