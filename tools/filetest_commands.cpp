// What the commands of text tests do.
//
// A command turns the input into text, or throws. Commands that read their input line by line (`type`, `schema`) put
// errors into their output, so that one file can hold a table; for the others an error is the whole output.
#include "filetest_commands.h"

#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <c10/core/InferenceMode.h>
#include <algorithm>
#include <map>
#include <optional>
#include <shared_mutex>
#include <sstream>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/inner_views.h"
#include "cresset/archive/code_printer.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/codegen/sequence.h"
#include "cresset/executor/mode.h"
#include "cresset/frontend/compiler.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/strided_views.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/schema_text.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ir/verifier.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipeline.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"
#include "cresset/support/print_handler.h"
#include "filetest_calls.h"
#include "filetest_modules.h"
#include "filetest_plans.h"
#include "filetest_run.h"
#include "graph_rewrites.h"
#include "syntax_printing.h"
#include "value_printing.h"

namespace cresset::tools {
namespace {

/// What the script that runs on this thread prints; null while none runs.
thread_local std::string* t_printed = nullptr;

class PrintCapture {
 public:
  explicit PrintCapture(std::string& out) {
    static const bool installed = [] {
      setPrintHandler([](const std::string& text) {
        if (t_printed != nullptr) *t_printed += text;
      });
      return true;
    }();
    (void)installed;
    t_printed = &out;
  }
  ~PrintCapture() { t_printed = nullptr; }
};

std::shared_ptr<const Source> sourceOf(const TestFile& test) {
  return std::make_shared<const Source>(test.input, test.path.filename().string(), test.first_line);
}

struct Command {
  std::string name;
  bool source_ranges = false;
  std::vector<const PassInfo*> passes;
  std::string pass_options;  // "disable=licm"
  bool no_grad = false, inference_mode = false, autocast = false;
  bool shows_constants = false;  // those of the test's own table
};

/// "compile, inline --source-ranges": a command or a pass, further passes, options.
Command parseCommand(const std::string& text) {
  Command command;
  std::string spaced = text;
  for (char& c : spaced) {
    if (c == ',') c = ' ';
  }
  std::istringstream words(spaced);
  std::string word;
  bool ranges_given = false;
  while (words >> word) {
    if (word == "--source-ranges" || word == "--no-source-ranges") {
      command.source_ranges = word == "--source-ranges";
      ranges_given = true;
    } else if (word == "--no-grad") {
      command.no_grad = true;
    } else if (word == "--inference") {
      command.inference_mode = true;
    } else if (word == "--autocast") {
      command.autocast = true;
    } else if (word.starts_with("--disable=")) {
      command.pass_options = word.substr(2);
    } else if (const PassInfo* pass = findPassOrRewrite(word)) {
      command.passes.push_back(pass);
    } else if (command.name.empty() && command.passes.empty()) {
      command.name = word;
    } else {
      std::string known;
      for (const PassInfo* p : passesAndRewrites()) known += " " + std::string(p->name);
      throw std::runtime_error("there is no pass '" + word + "'; known:" + known);
    }
  }
  if (command.name.empty()) command.name = "parse-ir";  // passes alone rewrite a graph
  if (!ranges_given) command.source_ranges = command.name == "parse-ir";
  return command;
}

std::string printGraph(const std::shared_ptr<Graph>& graph, const Command& command) {
  for (const PassInfo* pass : command.passes) {
    pass->run(*graph, {});
    verify(*graph);
  }
  if (!command.shows_constants) return toString(*graph, {.source_ranges = command.source_ranges});
  ConstantTable constants;
  std::string out = toString(*graph, {.source_ranges = command.source_ranges, .constants = &constants});
  for (size_t i = 0; i < constants.size(); ++i) {
    // Packed weights are numbers that the process has given them.
    const bool is_packed = constants[i].isTensor() && constants[i].toTensor().scalar_type() == at::kByte;
    out += "# CONSTANTS.c" + std::to_string(i) + " = " + (is_packed ? "<packed>" : reprOf(constants[i])) + "\n";
  }
  return out;
}

/// The listing of what runs for `graph`. Places are the lines of the test, which the input shows already.
std::string printCode(const std::shared_ptr<Graph>& graph, const std::string& name, const Command& command) {
  for (const PassInfo* pass : command.passes) pass->run(*graph, {});
  return disassemble(*emitCode(graph, name));
}

/// The graph as a function's source.
std::string printSource(const std::shared_ptr<Graph>& graph) {
  const auto program = Program::make();
  return printCode(program->declare(c10::QualifiedName("f"), [&](Function& function) { function.setGraph(graph); }));
}

/// Which memory the values of a graph may be, after the passes.
std::string printAliases(const std::shared_ptr<Graph>& graph, const Command& command) {
  for (const PassInfo* pass : command.passes) pass->run(*graph, {});
  return AliasDb(*graph).toString();
}

/// Which views of a graph nothing outside of it sees.
void printInnerViews(const Block* block, const InnerViews& always, const InnerViews& below_autograd, std::string& out) {
  for (const Node* node : block->nodes()) {
    const Operator* op = operatorOf(*node);
    if (op && stridedViewOf(*op)) {
      const char* where = always.contains(node)           ? "inside"
                          : below_autograd.contains(node) ? "inside where no gradients are recorded"
                                                          : "seen outside";
      out += '%' + node->output()->debugName() + " = " + op->fullName() + ": " + where + '\n';
    }
    for (const Block* inner : node->blocks()) printInnerViews(inner, always, below_autograd, out);
  }
}

std::string printInnerViews(const std::shared_ptr<Graph>& graph) {
  std::string out;
  printInnerViews(
      graph->block(), innerViews(*graph, /*records_gradients=*/true), innerViews(*graph, /*records_gradients=*/false),
      out);
  return out;
}

/// Tensors of the inputs, whose types say their sizes and strides.
std::vector<at::Tensor> tensorsFor(const Graph& graph, std::span<const size_t> inputs) {
  std::vector<at::Tensor> tensors;
  for (const size_t input : inputs) {
    const auto& type = graph.inputs()[input]->type()->expectRef<c10::TensorType>();
    const auto sizes = type.sizes().concrete_sizes(), strides = type.strides().concrete_sizes();
    if (!sizes || !strides) throw std::runtime_error("the inputs' types have to say sizes and strides");
    tensors.emplace_back(at::detail::empty_strided_cpu(*sizes, *strides, *type.scalarType()));
  }
  return tensors;
}

/// "input 1 + 16 bytes"
std::string toString(const codegen::Place& place) {
  static constexpr std::array<const char*, 3> kNames = {"input", "output", "temporary"};
  std::string text = kNames[static_cast<size_t>(place.memory)] + (" " + std::to_string(place.index));
  if (place.offset != 0) text += " + " + std::to_string(place.offset) + " bytes";
  return text;
}

/// Of a group, or of a sequence of groups.
std::string printKernels(const std::shared_ptr<Graph>& graph) try {
  const auto nodes = graph->nodes();
  const bool is_group = std::none_of(nodes.begin(), nodes.end(), [](const Node* node) { return isSubgraph(*node); });
  const codegen::Sequence sequence = codegen::makeSequence(*graph, is_group);
  const auto schedule = codegen::scheduleSequence(sequence, tensorsFor(*graph, sequence.tensors));
  if (schedule.calls.empty()) return "no kernel\n";
  std::ostringstream out;
  for (const codegen::StridedLayout& output : schedule.outputs)
    out << "output: sizes " << c10::IntArrayRef(output.sizes) << ", strides " << c10::IntArrayRef(output.strides)
        << '\n';
  for (const size_t bytes : schedule.temporaries) out << "temporary: " << bytes << " bytes\n";
  for (const codegen::KernelCall& call : schedule.calls) {
    out << "call:";
    for (size_t i = 0; i < call.buffers.size(); ++i)
      out << (i == 0 ? " b" : ", b") << i << ": " << toString(call.buffers[i]);
    out << "\nloops: " << c10::IntArrayRef(call.nest.sizes) << '\n' << call.kernel.toString();
  }
  return out.str();
} catch (const codegen::Unsupported& unsupported) {
  return "no kernel: " + unsupported.reason + '\n';
}

std::string compileSource(const TestFile& test, const Command& command) {
  auto program = Program::make();
  defineSource(*program, sourceOf(test), {});
  std::vector<Function*> functions = program->functions();
  std::string out;
  for (Function* function : functions) {
    if (command.name == "code") {
      out += printCode(function->graph(), function->qualname().qualifiedName(), command);
      continue;
    }
    if (command.name == "alias") {
      out += "# " + function->qualname().qualifiedName() + "\n" + printAliases(function->graph(), command);
      continue;
    }
    if (functions.size() > 1) out += "# " + function->qualname().qualifiedName() + "\n";
    out += command.name == "inner-views" ? printInnerViews(function->graph()) : printGraph(function->graph(), command);
    if (!out.empty() && out.back() != '\n') out += '\n';
  }
  return out;
}

/// The thread's state that calls see. (An InferenceMode that is off turns gradients on.)
class Ambient {
 public:
  explicit Ambient(const Command& command) : grad_mode_(!command.no_grad) {
    if (command.inference_mode) inference_mode_.emplace();
    at::autocast::set_autocast_enabled(at::kCPU, command.autocast);
  }
  ~Ambient() { at::autocast::set_autocast_enabled(at::kCPU, false); }
  Ambient(const Ambient&) = delete;
  Ambient& operator=(const Ambient&) = delete;

 private:
  c10::AutoGradMode grad_mode_;
  std::optional<c10::InferenceMode> inference_mode_;
};

/// What passes are told, how plans are made and the random numbers belong to the process: commands that change one of
/// them run alone.
std::shared_mutex process_state;

/// The commands whose input holds calls.
bool isCallCommand(const std::string& name) {
  return name == "run" || name == "plan" || name == "gradient" || name == "guards" || name == "facts";
}

std::string runCallCommand(const TestFile& test, const Command& command) {
  // Small functions have no plans unless asked for.
  static const bool plans = (setPlansAlways(true), true);
  (void)plans;
  const std::unique_lock alone(process_state);
  // What plans do before their operators are fused stands in texts; runs are compared with unoptimized ones, bit by
  // bit.
  const OptionScope kernels({{Option::kernels, command.name == "run" ? "now" : "off"}, {Option::numerics, "exact"}});
  const PassOptions usual = passOptions();
  struct Restore {
    const PassOptions& options;
    ~Restore() { setPassOptions(options); }
  } restore{usual};
  if (!command.pass_options.empty()) setPassOptions(parsePassOptions(command.pass_options));
  const Ambient ambient(command);
  std::string printed;
  const auto capture = [&](const std::function<void()>& run) {
    printed.clear();
    run();
    return printed;
  };
  const PrintCapture captures(printed);
  if (command.name == "run") return runCalls(test, capture);
  if (command.name == "plan") return printPlans(test);
  if (command.name == "gradient") return printGradients(test);
  if (command.name == "guards") return printGuards(test);
  return printFacts(test, command.passes);
}

/// For commands that read one thing per line: `parse` returns the text for a line.
template <typename Parse>
std::string perLine(const TestFile& test, std::map<size_t, std::string>& errors, const Parse& parse) {
  std::string out;
  size_t number = test.first_line;
  for (const std::string& line : splitLines(test.input)) {
    bool blank = line.find_first_not_of(" \t") == std::string::npos || line[0] == '#';
    if (!blank) {
      try {
        out += parse(line) + "\n";
      } catch (const UserError& e) {
        errors[number] = e.what();
        out += std::string(e.what()) + "\n";
      }
    }
    ++number;
  }
  return out;
}

struct Result {
  std::string output;
  std::map<size_t, std::string> errors;  // message by line in the file; 0 if the error has no place in it
};

/// The text of a line without comment and outer spaces.
std::string bareLine(std::string_view line) {
  line = line.substr(0, line.find(" #"));
  size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(line.substr(begin, line.find_last_not_of(" \t") - begin + 1));
}

/// The line of the test's file that an error is about. Errors of the verifier point into the graph as it prints, so
/// they are placed by the text of their line.
size_t lineOf(const UserError& error, const TestFile& test) {
  if (!error.range()) return 0;
  const Source& source = *error.range().source;
  if (source.text() == test.input) {
    std::string_view before = std::string_view(source.text()).substr(0, error.range().begin);
    return test.first_line + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  }
  std::string wanted = bareLine(source.line(error.range().begin));
  size_t number = test.first_line;
  for (const std::string& line : splitLines(test.input)) {
    if (bareLine(line) == wanted) return number;
    ++number;
  }
  return 0;
}

/// The commands that read a module or a program; null for others.
std::string (*moduleCommand(const std::string& name))(const TestFile&) {
  static const std::map<std::string, std::string (*)(const TestFile&)> commands = {
      {"module", printModule},
      {"save", printSaved},
      {"freeze", printFrozen},
      {"static", printStatic},
      {"program", printProgram}};
  const auto found = commands.find(name);
  return found == commands.end() ? nullptr : found->second;
}

Result execute(const TestFile& test) {
  Command command = parseCommand(test.command);
  command.shows_constants = test.input.find("# constant:") != std::string::npos;
  Result result;
  std::shared_lock<std::shared_mutex> together;
  std::unique_lock<std::shared_mutex> alone;
  if (command.name == "option" || command.name == "static") {
    alone = std::unique_lock(process_state);
  } else if (!isCallCommand(command.name)) {
    together = std::shared_lock(process_state);
  }
  try {
    if (command.name == "tokens") {
      result.output = printTokens(sourceOf(test));
    } else if (command.name == "tree") {
      result.output = printTrees(sourceOf(test), TreeStyle::Pretty);
    } else if (command.name == "type") {
      result.output = perLine(
          test, result.errors, [](const std::string& line) { return cresset::toString(*parseType(line, {}, true)); });
    } else if (command.name == "schema") {
      result.output =
          perLine(test, result.errors, [](const std::string& line) { return schemaText(parseSchema(line)); });
    } else if (command.name == "option") {
      result.output = perLine(test, result.errors, [](const std::string& line) {
        const auto values = parseOptions({line});
        const OptionScope scope(values);
        return std::string(line.substr(0, line.find('='))) + " = " + optionText(values.at(0).first);
      });
    } else if (const auto print = moduleCommand(command.name)) {
      std::string printed;  // not shown: results are
      const PrintCapture captures(printed);
      result.output = print(test);
    } else if (command.name == "parse-ir") {
      const auto graph = graphOfTest(test);
      result.output = printGraph(graph, command);
    } else if (command.name == "compile") {
      result.output = compileSource(test, command);
    } else if (command.name == "code" && test.path.extension() == ".ir") {
      const auto graph = graphOfTest(test);
      result.output = printCode(graph, test.path.stem().string(), command);
    } else if (command.name == "source") {
      const auto graph = graphOfTest(test);
      result.output = printSource(graph);
    } else if (command.name == "alias" && test.path.extension() == ".ir") {
      const auto graph = graphOfTest(test);
      result.output = printAliases(graph, command);
    } else if (command.name == "kernel") {
      result.output = printKernels(graphOfTest(test));
    } else if (command.name == "code" || command.name == "alias" || command.name == "inner-views") {
      result.output = compileSource(test, command);
    } else if (isCallCommand(command.name)) {
      result.output = runCallCommand(test, command);
    } else {
      throw std::runtime_error("there is no command '" + command.name + "'; known:\n" + describeCommands());
    }
  } catch (const UserError& e) {
    result.output = e.what();
    result.errors[lineOf(e, test)] = e.what();
  } catch (const ScriptError& e) {
    result.output = e.what();
    result.errors[0] = e.what();
  }
  if (!result.output.empty() && result.output.back() != '\n') result.output += '\n';
  return result;
}

/// Compares the errors that happened with the comments that announce them.
std::string compareErrors(const TestFile& test, const Result& result) {
  std::string out;
  for (const auto& [line, part] : test.errors) {
    auto found = result.errors.find(line);
    if (found == result.errors.end()) found = result.errors.find(0);  // an error without a place
    if (found == result.errors.end()) {
      out += "  line " + std::to_string(line) + ": no error here, expected: " + part + "\n";
    } else if (found->second.find(part) == std::string::npos) {
      out += "  line " + std::to_string(line) + ": expected: " + part + "\n  found:\n" + found->second + "\n";
    }
  }
  for (const auto& [line, message] : result.errors) {
    if (line != 0 && !test.errors.contains(line))
      out += "  line " + std::to_string(line) + ": unexpected error:\n" + message + "\n";
  }
  return out;
}

}  // namespace

std::string describeCommands() {
  return "  tokens        the tokens of a source, one per line\n"
         "  tree          the trees of a source\n"
         "  type          each line is a type, parsed and printed\n"
         "  schema        each line is a function schema, parsed and printed\n"
         "  parse-ir      a graph: parsed, verified, printed\n"
         "  compile       a source: the graph of each function\n"
         "  code          a source, or the graph of a .ir file: the instructions that run\n"
         "  source        a graph: a function of it as TorchScript source\n"
         "  alias         a source, or the graph of a .ir file: which memory each value may be, and what is written\n"
         "  inner-views   a source: which views nothing outside of a function sees\n"
         "  kernel        a graph of operators that fuse, with sizes and strides of its inputs: the kernel\n"
         "  facts         calls, or a .ir file: what is known of each tensor, after the passes that follow\n"
         "  plan          calls: the graph of the plan that each runs at last\n"
         "  gradient      calls: of that plan the differentiable regions, what they keep, and their gradients\n"
         "  guards        calls: what plans there are after all of them, their signatures and guards\n"
         "  option        each line is NAME=VALUE, an option of the process: its value once it is set\n"
         "  program       a source: the functions and classes that it defines\n"
         "  module        a module (filetest_modules.h): attributes, graphs of methods, submodules, results of calls\n"
         "  save          a module: the code of its archive; loaded, its results must be the same\n"
         "  freeze        a module: the attributes and graphs that are left; its results must be the same\n"
         "  static        calls: how each node of the functions' static modules runs, and where results lie\n"
         "  run           calls: result, exception, output, aliasing, what becomes of arguments, gradients; by plans "
         "all\n"
         "                of it must be the same as unoptimized, else the test fails and can't be blessed\n"
         "Calls are lines '# call: f(torch.ones(2), n=3)' in a source, or in a .ir file, whose graph is `f`; a line\n"
         "'# let: x = torch.ones(2)' defines a name for the calls after it. --no-grad, --inference and --autocast (of "
         "the "
         "CPU,\n"
         "to bfloat16) say in which state they run, --disable=licm+dce which passes do nothing.\n"
         "A .ir file's lines '# constant: torch.ones(2)' give what it calls CONSTANTS.c0, and so on.\n"
         "Passes may follow parse-ir, compile, code and alias (`# run: compile, inline`) or stand alone for a graph.\n"
         "--source-ranges and --no-source-ranges say whether graphs show them (parse-ir does, compile does not).\n";
}

Outcome runTest(const TestFile& test) {
  Outcome outcome;
  try {
    Result result = execute(test);
    outcome.output = result.output;
    if (!test.errors.empty()) {
      outcome.complaint = compareErrors(test, result);
    } else if (!test.expected) {
      outcome.complaint = "  the test has no expect section; --bless writes one:\n" + result.output;
    } else {
      outcome.complaint = difference(*test.expected, result.output);
    }
    outcome.passed = outcome.complaint.empty();
  } catch (const std::exception& e) {
    outcome.complaint = std::string("  ") + e.what() + "\n";
  }
  return outcome;
}

}  // namespace cresset::tools
