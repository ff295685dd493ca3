#include "filetest_modules.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cresset/archive/archive.h"
#include "cresset/archive/mapped_file.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/executor/mode.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/schema_text.h"
#include "cresset/module/freeze.h"
#include "cresset/module/module.h"
#include "cresset/static_runtime/static_module.h"
#include "cresset/support/error.h"
#include "filetest_calls.h"
#include "value_printing.h"

namespace cresset::tools {

namespace {

std::string stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

/// What a line "# parameter: …" says; nothing of other lines.
std::optional<std::string> saidBy(const std::string& line, std::string_view keyword) {
  const std::string start = "# " + std::string(keyword) + ":";
  return line.starts_with(start) ? std::optional(stripped(std::string_view(line).substr(start.size()))) : std::nullopt;
}

/// The value of an expression, as a variable of the type gets it; a tuple of several.
c10::IValue valueOf(const std::string& expression, const std::string& type = "") {
  const auto program = Program::make();
  std::string source = "def value()" + (type.empty() ? "" : " -> " + type) + ":\n  return " + expression + "\n";
  Function* function = defineSource(*program, std::make_shared<const Source>(source, "value"), {}).at(0);
  at::manual_seed(0);
  const GraphOptimizerEnabledGuard unoptimized(false);
  std::vector<c10::IValue> stack;
  function->run(stack);
  return stack.back();
}

/// "weight = torch.ones([2])", "scale: float = 2.0"
struct Declaration {
  std::string name, type = "Tensor", expression;

  explicit Declaration(const std::string& text) {
    const size_t equals = text.find(" = ");
    if (equals == std::string::npos) throw UserError("'" + text + "': an attribute is NAME: TYPE = EXPRESSION");
    name = text.substr(0, equals);
    expression = text.substr(equals + 3);
    if (const size_t colon = name.find(": "); colon != std::string::npos) {
      type = name.substr(colon + 2);
      name.resize(colon);
    }
  }

  c10::IValue value() const { return valueOf(expression, type); }
};

struct ModuleTest {
  Module module;
  std::vector<std::string> calls;      // their arguments
  std::vector<std::string> preserved;  // attributes and methods that freezing keeps

  explicit ModuleTest(const TestFile& test) : module(c10::QualifiedName("__torch__.M")) {
    std::vector<std::pair<Module, std::string>> sources{{module, ""}};
    for (const std::string& line : splitLines(test.input)) read(line, sources);
    // Those within others first: methods call theirs.
    for (size_t i = sources.size(); i-- > 0;) {
      if (!stripped(sources[i].second).empty()) sources[i].first.define(sources[i].second);
    }
    module.eval();
  }

  /// Of a module whose forward is that one's.
  std::vector<std::string> results(const Module& of) const {
    std::vector<std::string> texts;
    for (const std::string& call : calls) {
      std::vector<c10::IValue> arguments = valueOf("(" + call + ",)").toTupleRef().elements().vec();
      std::string text;
      try {
        text = reprOf(of.forward(std::move(arguments)));
      } catch (const ScriptError& error) {
        text = describeError(error);
      }
      texts.push_back("forward(" + call + "): " + text);
    }
    return texts;
  }

 private:
  void read(const std::string& line, std::vector<std::pair<Module, std::string>>& sources) {
    Module& current = sources.back().first;
    if (const auto parameter = saidBy(line, "parameter")) {
      const Declaration declared(*parameter);
      current.register_parameter(declared.name, declared.value().toTensor());
    } else if (const auto buffer = saidBy(line, "buffer")) {
      const Declaration declared(*buffer);
      current.register_buffer(declared.name, declared.value().toTensor());
    } else if (const auto attribute = saidBy(line, "attribute")) {
      const Declaration declared(*attribute);
      const auto program = Program::make();
      const std::string source = "def of(x: " + declared.type + "):\n  pass\n";
      Function* function = defineSource(*program, std::make_shared<const Source>(source, "type"), {}).at(0);
      current.register_attribute(declared.name, function->getSchema().arguments()[0].type(), declared.value());
    } else if (const auto name = saidBy(line, "module")) {
      std::string class_name = *name;
      class_name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(class_name[0])));
      const Module inner(c10::QualifiedName("__torch__." + class_name), module.program());
      module.register_module(*name, inner);
      sources.emplace_back(inner, "");
    } else if (const auto call = saidBy(line, "call")) {
      calls.push_back(*call);
    } else if (const auto kept = saidBy(line, "preserve")) {
      preserved.push_back(*kept);
    } else {
      sources.back().second += line + "\n";
    }
  }
};

/// Throws if the results of another form of the module are not its own.
std::string sameResults(const ModuleTest& test, const Module& other) {
  const std::vector<std::string> expected = test.results(test.module), found = test.results(other);
  std::string out;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != found[i]) throw std::runtime_error("results differ:\n  " + expected[i] + "\n  " + found[i]);
    out += expected[i] + "\n";
  }
  return out;
}

std::string bytesOf(const Module& module) {
  std::ostringstream out;
  module.save(out);
  return out.str();
}

/// The code of the archive, and the names of what else is in it.
std::string printRecords(const std::string& archive) {
  LoadBudget budget(LoadBudget::defaultLimit(archive.size()));
  const ZipReader zip(ArchiveBytes::wrap(archive.data(), archive.size(), nullptr), budget);
  std::string code, others;
  for (const ZipEntry& entry : zip.entries()) {
    const std::string name(zip.recordName(entry));
    if (name.ends_with(".py")) {
      code += "# " + name + "\n" + std::string(zip.read(entry, budget).bytes());
    } else {
      others += (others.empty() ? "# others: " : ", ") + name;
    }
  }
  return code + others + "\n";
}

std::string printGraphs(const Module& module) {
  std::string out;
  for (const Method& method : module.get_methods())
    out += "# " + method.name() + "\n" + toString(*method.graph(), {.source_ranges = false});
  return out;
}

}  // namespace

std::string printModule(const TestFile& test) {
  const ModuleTest module(test);
  std::string out = module.module.dump_to_str() + "\n";
  for (const std::string& result : module.results(module.module)) out += result + "\n";
  return out;
}

std::string printSaved(const TestFile& test) {
  const ModuleTest module(test);
  const std::string archive = bytesOf(module.module);
  std::istringstream stream(archive);
  const Module loaded = load(stream, LoadOptions());
  if (printRecords(bytesOf(loaded)) != printRecords(archive))
    throw std::runtime_error("saved again, the archive differs:\n" + printRecords(bytesOf(loaded)));
  return printRecords(archive) + "# loaded\n" + loaded.dump_to_str(/*code=*/false) + "\n" + sameResults(module, loaded);
}

std::string printFrozen(const TestFile& test) {
  const ModuleTest module(test);
  // Of a copy: it would share the tensors that calls write to.
  const Module frozen = freeze(module.module.deepcopy(), module.preserved, /*optimize_numerics=*/false);
  return frozen.dump_to_str(/*code=*/false) + "\n" + printGraphs(frozen) + sameResults(module, frozen);
}

std::string printStatic(const TestFile& test) {
  const auto program = programOfTest(test);
  std::vector<std::pair<Function*, StaticModule>> modules;
  std::string out;
  for (const Call& call : callsOf(test, *program)) {
    auto found = std::find_if(modules.begin(), modules.end(), [&](const auto& m) { return m.first == call.function; });
    if (found == modules.end())
      found = modules.insert(modules.end(), {call.function, StaticModule(*call.function, {.enable_fusion = false})});
    std::vector<c10::IValue> stack = call.evaluate().arguments;
    {
      const GraphOptimizerEnabledGuard unoptimized(false);
      call.function->run(stack);
    }
    const std::string expected = reprOf(stack.back());
    for (int i = 0; i < 2; ++i) {  // the first run makes the memory that the second computes into
      const std::string result = reprOf(found->second.runtime()(call.evaluate().arguments));
      if (result != expected) throw std::runtime_error(call.text + ": " + result + ", not " + expected);
    }
    out += call.text + ": " + expected + "\n";
  }
  for (auto& [function, module] : modules) out += "# " + function->name() + "\n" + module.runtime().report().toString();
  return out;
}

std::string printProgram(const TestFile& test) {
  const auto program = programOfTest(test);
  std::string out;
  for (Function* function : program->functions()) out += schemaText(function->getSchema()) + "\n";
  for (const c10::NamedTypePtr& type : program->types()) {
    out += type->name()->qualifiedName() + "\n";
    if (const auto tuple = type->cast<c10::TupleType>(); tuple && tuple->schema()) {
      for (const c10::Argument& field : tuple->schema()->arguments())
        out += "  " + field.name() + ": " + field.type()->annotation_str() + "\n";
    }
    if (const auto choices = type->cast<c10::EnumType>()) {
      for (const auto& [name, value] : choices->enumNamesValues()) out += "  " + name + " = " + reprOf(value) + "\n";
    }
    const auto cls = type->cast<c10::ClassType>();
    if (!cls) continue;
    for (const c10::ClassAttribute& attribute : cls->getAttributes())
      out += "  " + attribute.getName() + ": " + attribute.getType()->annotation_str() + "\n";
    for (const torch::jit::Function* method : cls->methods()) out += "  " + schemaText(method->getSchema()) + "\n";
  }
  return out;
}

}  // namespace cresset::tools
