// The `cresset` command: runs programs without Python.
#include <ATen/core/Tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string_view>

#include "arguments.h"
#include "cresset/cresset.h"
#include "cresset/ir/literal.h"
#include "cresset/module/values.h"
#include "cresset/ops/format.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/nesting.h"
#include "cresset/static_runtime/static_module.h"
#include "cresset/support/string_literal.h"
#include "cresset/support/suggest.h"
#include "inspection.h"

namespace {

using cresset::cli::Arguments;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// What is saved, and where: a tensor at STEM.npy; the tensors of a tuple, list or dict at STEM-0.npy, STEM-1.npy, … or
/// STEM-key.npy. What is no tensor is left out.
struct Files {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::vector<std::string> left_out;  // "STEM-1 (int)"
};
void collectFiles(const c10::IValue& value, const std::string& stem, Files& files) {
  const auto collectAll = [&](const auto& elements) {
    size_t i = 0;
    for (const c10::IValue& element : elements) collectFiles(element, stem + "-" + std::to_string(i++), files);
  };
  if (value.isTensor() && value.toTensor().defined()) {
    files.tensors.emplace_back(stem + ".npy", value.toTensor());
  } else if (value.isTuple()) {
    collectAll(value.toTupleRef().elements());
  } else if (value.isList()) {
    collectAll(value.toListRef());
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const std::string key = entry.key().isString() ? entry.key().toStringRef() : cresset::toPrinted(entry.key());
      collectFiles(entry.value(), stem + "-" + key, files);
    }
  } else {
    files.left_out.push_back(stem + " (" + (value.isTensor() ? "undefined" : cresset::describeType(value)) + ")");
  }
}

/// Whether a result of this type may have something to save.
bool mayHoldTensors(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::AnyListType:
    case c10::TypeKind::AnyTupleType:
      return true;
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType: {
      const auto inner = type->containedTypes();
      return std::any_of(inner.begin(), inner.end(), mayHoldTensors);
    }
    default:
      return false;
  }
}

void requireSavable(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (mayHoldTensors(result.type())) return;
  }
  const std::string type = schema.returns().empty() ? "None" : schema.returns()[0].type()->annotation_str();
  throw cresset::UserError(
      "--save: " + schema.name() + " returns " + type +
      ", in which there are no tensors to save as .npy; without --save the result is printed");
}

/// Writes the tensors, and says what is left out.
void save(const c10::IValue& value, const std::string& path) {
  Files files;
  cresset::requireFewElements(value, "saving the result");
  collectFiles(value, path.ends_with(".npy") ? path.substr(0, path.size() - 4) : path, files);
  for (const auto& [file, tensor] : files.tensors) {
    cresset::cli::writeNpy(file, tensor);
    std::cout << "saved " << file << "\n";
  }
  for (const std::string& part : files.left_out) std::cerr << "not saved, being no tensor: " << part << "\n";
  if (files.tensors.empty())
    throw cresset::UserError("--save: there were no tensors in the result of type " + cresset::describeType(value));
}

/// As scripts print it, but with the signs of zeros and, within containers, the quotes of strings.
std::string textOf(const c10::IValue& value, bool within = false) {
  const auto join = [](const auto& values) {
    std::string text;
    for (const c10::IValue& each : values) text += (text.empty() ? "" : ", ") + textOf(each, /*within=*/true);
    return text;
  };
  if (value.isDouble()) return cresset::floatToText(value.toDouble());
  if (value.isString() && within) return cresset::quoteString(value.toStringRef());
  if (value.isList()) return "[" + join(value.toListRef()) + "]";
  const bool is_plain_tuple = value.isTuple() && !value.type()->expectRef<c10::TupleType>().schema();
  if (is_plain_tuple) {
    const auto& elements = value.toTupleRef().elements();
    return "(" + join(elements) + (elements.size() == 1 ? ",)" : ")");
  }
  if (!value.isGenericDict()) return cresset::toPrinted(value);
  std::string text;
  for (const auto& entry : value.toGenericDict())
    text += (text.empty() ? "" : ", ") + textOf(entry.key(), true) + ": " + textOf(entry.value(), true);
  return "{" + text + "}";
}

struct RunOptions {
  std::string file, method = "forward", output, device;
  std::vector<std::string> words;
  int repeat = 1;
  bool time = false;
  bool trusted = false, verify = false;
  bool as_static = false, plan = false;
  std::vector<std::string> allow_ops;
  std::optional<double> limit_seconds;
  std::optional<size_t> limit_memory;
};

c10::Device deviceOf(const std::string& name) {
  try {
    return c10::Device(name);
  } catch (const c10::Error&) {
    throw cresset::UserError("--device: '" + name + "' is no device; say cpu, cuda, cuda:1, meta or the like");
  }
}

cresset::LoadOptions loadOptions(const RunOptions& options) {
  cresset::LoadOptions result;
  if (!options.device.empty()) result.device = deviceOf(options.device);
  result.trusted = options.trusted;
  result.verify = options.verify;
  result.door = cresset::Door::Command;
  result.allow_ops = options.allow_ops;
  result.limits = {options.limit_seconds, options.limit_memory};
  return result;
}

int runMethod(const RunOptions& options) {
  auto start = Clock::now();
  const cresset::Module module = cresset::load(options.file, loadOptions(options));
  const double load_ms = milliseconds(start);
  const cresset::Method method = module.get_method(options.method);
  const Arguments arguments = cresset::cli::parseArguments(options.words, method.getSchema());
  if (!options.output.empty()) requireSavable(method.getSchema());
  if (options.plan && !options.as_static)
    throw cresset::UserError("--plan shows the plan of a static module: say --static, too");
  if (options.as_static && options.method != "forward")
    throw cresset::UserError("--static runs forward, not " + options.method);
  std::optional<cresset::StaticModule> static_module;
  if (options.as_static) static_module.emplace(module);
  c10::IValue result;
  std::vector<double> calls;
  for (int i = 0; i < options.repeat; ++i) {
    start = Clock::now();
    // A call of the module, as Python's: with the forward hooks that it may have.
    result = static_module                 ? static_module->runtime()(arguments.positional, arguments.keywords)
             : options.method == "forward" ? module(arguments.positional, arguments.keywords)
                                           : method(arguments.positional, arguments.keywords);
    calls.push_back(milliseconds(start));
  }
  if (options.time) {
    std::cerr << "load " << load_ms << " ms, first call " << calls.front() << " ms";
    if (calls.size() > 1) {
      std::sort(calls.begin() + 1, calls.end());
      std::cerr << ", later calls " << calls[1 + (calls.size() - 1) / 2] << " ms (median of " << calls.size() - 1
                << ")";
    }
    std::cerr << "\n";
  }
  if (options.plan) std::cout << static_module->runtime().report().toString();
  // Last, since it may fail: the time has been told by then.
  if (options.output.empty()) {
    const cresset::CallLimits limits({options.limit_seconds, options.limit_memory});
    cresset::requireShallow(result, "printing the result");
    std::cout << textOf(result) << "\n";
  } else {
    save(result, options.output);
  }
  return 0;
}

struct ShowOptions {
  std::string file, function, html, json;
  bool trusted = false, verify = false;
  std::vector<std::string> sections;
  bool as_static = false;
  std::vector<std::string> static_words;
};

void writeFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw cresset::UserError("cannot write " + path);
  std::cerr << "wrote " << path << "\n";
}

/// The plan of the archive's static module for arguments, with its memory; nothing is run.
std::string staticPlan(const ShowOptions& options) {
  cresset::LoadOptions load;
  load.trusted = options.trusted;
  load.verify = options.verify;
  load.door = cresset::Door::Command;
  const cresset::Module module = cresset::load(options.file, load);
  const Arguments arguments =
      cresset::cli::parseArguments(options.static_words, module.get_method("forward").getSchema());
  const cresset::StaticModule made(module, {.memory_policy = cresset::MemoryPolicy::Precomputed});
  made.runtime().prepare(arguments.positional, arguments.keywords);
  return made.runtime().report().toString();
}

int show(const ShowOptions& options) {
  if (options.as_static) {
    if (!options.sections.empty() || !options.function.empty() || !options.html.empty() || !options.json.empty())
      throw cresset::UserError("--static shows the plan of a static module, and nothing else");
    std::cout << staticPlan(options);
    return 0;
  }
  const cresset::cli::Inspection inspection = cresset::cli::inspect(options.file, options.trusted, options.verify);
  if (!options.html.empty()) writeFile(options.html, toHtml(inspection));
  if (!options.json.empty()) writeFile(options.json, toJson(inspection));
  if (!options.html.empty() || !options.json.empty()) return 0;
  std::vector<std::string> sections = options.sections;
  if (sections.empty())
    sections = options.function.empty() ? std::vector<std::string>{"overview", "modules"}
                                        : std::vector<std::string>{"source", "ir"};
  std::cout << toText(inspection, sections, options.function);
  return 0;
}

constexpr const char* kVerifyHelp = "compare the checksums of all tensors too, before anything else";

constexpr const char* kRunHelp = R"(
Arguments are given in the method's order, or as name=VALUE. A value is
  3, 2.5, True, None, [1, 2], {'a': 1}, (1, 'x')   a literal, or any expression of the script language
  word                                             as it is, where the method takes a str
  @x.npy                                           a NumPy array
  @x.pt                                            what torch.save wrote: a tensor, list, dict, …
  @x.wav                                           a sound: float32, shape [frames] or [channels, frames]
  @x.wav:rate                                      its sampling rate, an int
Words that begin with a dash and are no numbers go after `--`.
Examples:
  cresset run model.pt @input.npy
  cresset run vad.jit --method audio_forward @speech.wav sr=@speech.wav:rate --save probabilities.npy
  cresset run model.pt 'torch.ones([1, 3, 8, 8])' --repeat 100 --time)";

constexpr const char* kShowHelp = R"(
SECTIONS, any of
  overview    sizes and counts                      modules     the tree of modules, their attributes
  parameters  every tensor                          types       classes, interfaces, enums, named tuples
  files       what the archive is made of           source      functions in the file that their author wrote
  code        functions as the archive has them     ir          their graphs
  inlined     their graphs, calls inlined           bytecode    the instructions that run
Without any: overview and modules; of one --function, source and ir. With --static and arguments, as `cresset run` has
them: how each operator runs in a static module, and which result lies where in its memory, and for how long.
Nothing of the archive runs, unless it is --trusted and its objects restore themselves.
Examples:
  cresset show model.pt                             what it is
  cresset show model.pt parameters files            what is large in it
  cresset show model.pt -f forward inlined          the functions of this name
  cresset show model.pt -f encoder.gru.forward      one method, by the path of its module
  cresset show model.pt --static 'torch.ones([1, 8])'  its plan as a static module for such arguments
  cresset show model.pt --html model.html           all of it, to look around in
  cresset show model.pt --json -                    all of it, for other programs)";

/// CLI11 takes a word in brackets for a list, which it splits at commas, and `-.5` for an option. A blank in front of
/// them prevents that.
bool needsShield(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  return word.starts_with('[') || (word.size() > 2 && word.starts_with("-.") && std::isdigit(word[2]));
}
void shield(std::string& word) {
  if (needsShield(word)) word.insert(0, 1, ' ');
}
void unshield(std::string& word) {
  if (word.starts_with(' ') && needsShield(word)) word.erase(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cresset runs PyTorch programs without Python.");
  app.footer(cresset::optionsAsHelp());
  std::vector<std::string> process_options;
  app.set_version_flag("--version", CRESSET_VERSION);
  app.require_subcommand(1);
  app.add_option("--option", process_options, "set an option of the process, see below; before the command")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  RunOptions options;
  CLI::App* run = app.add_subcommand("run", "Loads an archive, calls a method, prints or saves the result");
  run->footer(kRunHelp);
  run->add_option("FILE", options.file, "an archive made by torch.jit.save")->required();
  run->add_option("ARGS", options.words, "the method's arguments");
  run->add_option("-m,--method", options.method, "the method to call")->capture_default_str();
  run->add_option("-o,--save", options.output, "save the result's tensors as .npy instead of printing it");
  run->add_option("--device", options.device, "move the archive's tensors there while loading");
  run->add_option("--repeat", options.repeat, "call so many times")->check(CLI::PositiveNumber);
  run->add_flag(
      "--static", options.as_static,
      "run it as a static module: frozen, in evaluation mode, in memory that is planned");
  run->add_flag(
      "--plan", options.plan,
      "with --static, tell how each operator runs, and which result lies where and for how long");
  run->add_flag("--time", options.time, "tell how long loading and calls took");
  run->add_flag(
      "--trusted", options.trusted,
      "let the archive call any operator, those that touch files too, and restore its "
      "objects by code of its own");
  run->add_option("--allow-op", options.allow_ops, "let it call this one: NAMESPACE::NAME, or NAMESPACE::*")
      ->expected(1)
      ->take_all();
  run->add_option("--limit-seconds", options.limit_seconds, "end a call that runs longer; more than 0")
      ->check([](const std::string& text) {
        double seconds = 0;
        const bool number = CLI::detail::lexical_cast(text, seconds);
        return number && seconds > 0 ? std::string() : "'" + text + "' is no number of seconds above 0";
      });
  run->add_option(
         "--limit-memory", options.limit_memory,
         "end a call that takes more bytes, or loading that takes more beside the file; 512MB, 2GiB")
      ->transform(CLI::AsSizeValue(false));
  run->add_flag("--verify", options.verify, kVerifyHelp);
  ShowOptions shown;
  CLI::App* show_command = app.add_subcommand("show", "Tells what is in an archive");
  show_command->footer(kShowHelp);
  show_command->add_option("FILE", shown.file, "an archive made by torch.jit.save or Cresset")->required();
  show_command->add_option("SECTIONS", shown.sections, "what to tell")
      ->check(CLI::IsMember(
          {"overview", "modules", "parameters", "types", "files", "source", "code", "ir", "inlined", "bytecode"}));
  show_command->add_option(
      "-f,--function", shown.function,
      "only functions whose qualified name ends so, or a module's method: encoder.gru.forward");
  show_command->add_flag("--trusted", shown.trusted, "let objects restore themselves by code of the archive");
  show_command->add_flag("--verify", shown.verify, kVerifyHelp);
  show_command->add_option("--html", shown.html, "write one page that shows everything; - is standard output");
  show_command->add_option("--json", shown.json, "write everything as JSON; - is standard output");
  const CLI::Option* static_option =
      show_command
          ->add_option(
              "--static", shown.static_words, "the plan of its static module for these arguments; after the others")
          ->type_name("ARGS")
          ->expected(0, -1);
  const std::vector<std::string> commands{"run", "show"};
  if (argc > 1 && argv[1][0] != '-' && std::find(commands.begin(), commands.end(), argv[1]) == commands.end()) {
    std::cerr << "cresset: there is no command '" << argv[1] << "'" << cresset::didYouMean(argv[1], commands)
              << "\nThe commands are run and show: `cresset run FILE ARGS`, `cresset show FILE`.\n";
    return 2;
  }
  std::vector<std::string> shielded(argv, argv + argc);
  for (std::string& word : shielded) shield(word);
  std::vector<const char*> arguments;
  for (const std::string& word : shielded) arguments.push_back(word.c_str());
  CLI11_PARSE(app, argc, arguments.data());
  for (std::string* word : {&options.file, &options.output, &shown.file, &shown.html, &shown.json}) unshield(*word);
  for (std::string& word : options.words) unshield(word);
  for (std::string& word : shown.static_words) unshield(word);
  shown.as_static = static_option->count() > 0;
  if (shielded.back() == "--static") shown.static_words.clear();  // CLI11 makes one word of none
  try {
    cresset::checkOptionsOfEnvironment();
    cresset::setOptions(cresset::parseOptions(process_options));
    if (show_command->parsed()) return show(shown);
    return runMethod(options);
  } catch (const cresset::Error& error) {
    std::cerr << "cresset: " << error.what() << "\n";
    return 1;
  } catch (const c10::Error& error) {
    std::cerr << "cresset: " << error.what_without_backtrace() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "cresset: " << error.what() << "\n";
    return 1;
  }
}
