// Importing definitions. See source_importer.h.
#include "cresset/archive/source_importer.h"

#include <ATen/core/class_type.h>
#include <torch/custom_class_detail.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "cresset/archive/archive_values.h"
#include "cresset/frontend/class_members.h"
#include "cresset/frontend/emitter.h"
#include "cresset/frontend/prelude.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/policy.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr std::string_view kRoot = "__torch__";
constexpr std::string_view kCustomClasses = "__torch__.torch.classes";

// What trees, and types and schemas made from them, take per byte of the text that they are parsed from, at most: a
// line `  x : int` has ten trees. So that loading stays within its limit.
constexpr size_t kTreeBytesPerByte = 160;
// What of that is left when the trees are gone: attributes' and arguments' names and types.
constexpr size_t kKeptBytesPerByte = 20;

// More than any program has. A name is kept as a string for each of its parts, in each class, function and method.
constexpr size_t kMaxNameSize = 1000, kMaxNameParts = 100;
// What a class, or a function with its schema, takes beside its name and what it is parsed from.
constexpr size_t kDefinitionBytes = 512;

// The functions that a text defines, at most.
size_t countFunctions(std::string_view text) {
  constexpr std::string_view kDef = "def ";
  size_t count = 0;
  for (size_t at = text.find(kDef); at != std::string_view::npos; at = text.find(kDef, at + kDef.size())) ++count;
  return count;
}

bool isUnder(std::string_view name, std::string_view prefix) {
  return name.substr(0, prefix.size()) == prefix && (name.size() == prefix.size() || name[prefix.size()] == '.');
}

// "__torch__.a.b" → "code/__torch__/a/b"
std::string pathOf(const std::string& folder, std::string_view qualified_name) {
  std::string path(qualified_name);
  std::replace(path.begin(), path.end(), '.', '/');
  return folder + path;
}

// A class that extends Module, with nothing between its attributes and methods that ties them together.
bool isPlainModule(std::string_view header) {
  size_t line = header.find('\n');
  return header.substr(0, line).find("(Module)") != std::string_view::npos &&
         header.find("__forward_hooks__") == std::string_view::npos &&
         header.find("__forward_pre_hooks__") == std::string_view::npos;
}

// Whether a function in the class's block is a method: its first parameter, whatever its name, is of that class.
// Archives of older formats don't say the type.
bool takesSelf(const Def& head, const c10::ClassType& cls) {
  const auto params = head.decl().params();
  if (params.empty()) return false;
  const auto type = params[0].type();
  return !type.present() || type.get().range().text() == cls.name()->qualifiedName();
}

// Classes whose attributes have classes whose attributes … are imported by recursion; so the chain has a limit.
class Nesting {
 public:
  Nesting(std::unordered_set<std::string>& in_progress, const std::string& name) : set_(in_progress), name_(name) {
    if (set_.size() >= static_cast<size_t>(kMaxNesting))
      throw UserError(
          "The classes of this archive need each other more than " + std::to_string(kMaxNesting) +
          " levels deep, at '" + name + "'.");
    if (!set_.insert(name).second) throw UserError("The definition of '" + name + "' needs itself.");
  }
  ~Nesting() { set_.erase(name_); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  std::unordered_set<std::string>& set_;
  std::string name_;
};

}  // namespace

void SourceImporter::requireShortName(std::string_view name) {
  const auto parts = 1 + static_cast<size_t>(std::count(name.begin(), name.end(), '.'));
  if (name.size() <= kMaxNameSize && parts <= kMaxNameParts) return;
  throw UserError(
      "The name '" + std::string(name.substr(0, 60)) + "…' has " + std::to_string(name.size()) + " characters and " +
      std::to_string(parts) + " parts; names of archives have at most " + std::to_string(kMaxNameSize) + " and " +
      std::to_string(kMaxNameParts) + ".");
}

size_t SourceImporter::definitionBytes(const c10::QualifiedName& name) {
  // In the definition and in a table of the program.
  return kDefinitionBytes + 2 * (2 * name.qualifiedName().size() + name.atoms().size() * sizeof(std::string));
}

void SourceImporter::chargeDefinitions(
    const c10::QualifiedName& name, size_t count, const CodeFile& file, size_t begin, size_t end) {
  // What parsing keeps is charged by itself, and pays for a definition of usual length.
  const size_t paid = (end - begin) * kKeptBytesPerByte, bytes = count * definitionBytes(name);
  if (budget_ && bytes > paid)
    budget_->charge(bytes - paid, {zip_->file(), file.record(), begin}, "the definitions of this code");
}

const std::shared_ptr<const CodeFile>& SourceImporter::fileOf(const std::string& prefix) {
  auto [it, fresh] = files_.try_emplace(prefix);
  if (!fresh) return it->second;
  std::string record = pathOf(code_, prefix) + ".py";
  if (const ZipEntry* entry = zip_->find(record)) it->second = readFile(*entry, record, record + ".debug_pkl");
  return it->second;
}

std::shared_ptr<const CodeFile> SourceImporter::readFile(
    const ZipEntry& entry, const std::string& record, const std::string& debug_record) {
  LoadBudget& budget = budget_ ? *budget_ : later_;
  std::string text = zip_->readOwned(entry, budget);
  if (text.size() >= std::numeric_limits<uint32_t>::max()) zip_->site(entry).fail("the code file is larger than 4 GiB");
  budget.charge(CodeFile::tableBytes(text), zip_->site(entry), "the definitions of this code file");
  auto debug = debug_files_ ? std::make_shared<const DebugRecords>(zip_, debug_record, debug_budget_) : nullptr;
  return std::make_shared<CodeFile>(std::move(text), record, std::move(debug));
}

void SourceImporter::declareMethods(
    const c10::ClassTypePtr& cls, const std::string& record, const std::string& debug_record) {
  const ZipEntry* entry = zip_->find(record);
  if (!entry) ArchiveSite{zip_->file(), record, 0}.fail("the archive has no such record");
  const auto file = readFile(*entry, record, debug_record);
  std::unordered_set<std::string> names;  // the class searches its own one by one
  for (size_t i = 0; i < cls->numAttributes(); ++i) names.insert(cls->getAttributeName(i));
  for (const CodeBlock& block : file->blocks()) {
    const size_t signature_end = file->signatureEnd(block);
    if (block.kind != CodeBlock::Function || signature_end == std::string::npos)
      zip_->site(*entry, block.begin).fail("only methods are expected here");
    if (!names.insert(std::string(block.name)).second)
      zip_->site(*entry, block.begin).fail("the module has '" + std::string(block.name) + "' twice");
    requireFewMembers(program_, cls->name()->name(), names.size(), {});
    declareMethod(cls, file, block, signature_end);
  }
}

SourceImporter::ParsingCharge::ParsingCharge(LoadBudget* budget, const ArchiveSite& site, size_t size)
    : budget_(budget) {
  if (!budget_) return;
  budget_->charge(size * kTreeBytesPerByte, site, "parsing this definition");
  released_ = size * (kTreeBytesPerByte - kKeptBytesPerByte);
}

SourceImporter::ParsingCharge::~ParsingCharge() {
  if (budget_) budget_->release(released_);
}

SourceImporter::ParsingCharge SourceImporter::chargeParsing(const CodeFile& file, size_t begin, size_t end) {
  return ParsingCharge(budget_, {zip_->file(), file.record(), begin}, end - begin);
}

c10::TypePtr SourceImporter::findType(const std::string& name) {
  if (!isUnder(name, kRoot)) return nullptr;
  if (isUnder(name, kCustomClasses)) return torch::getCustomClass(name);
  requireShortName(name);
  c10::QualifiedName qualified(name);
  if (auto type = program_.findType(qualified)) return type;
  if (auto type = classOfPortable(qualified, program_)) return type;
  const auto& file = fileOf(qualified.prefix());
  if (!file) return nullptr;
  const CodeBlock* block = file->find(qualified.name());
  if (!block || block->kind != CodeBlock::Class) return nullptr;
  Nesting nesting(in_progress_, name);
  return defineBlock(qualified, std::shared_ptr<const CodeFile>(file), *block);
}

Function* SourceImporter::findFunction(const std::string& name) {
  if (!isUnder(name, kRoot)) return nullptr;
  requireShortName(name);
  c10::QualifiedName qualified(name);
  if (Function* function = program_.findFunction(qualified)) return function;
  std::shared_ptr<const CodeFile> file = fileOf(qualified.prefix());
  if (!file) return nullptr;
  const CodeBlock* block = file->find(qualified.name());
  if (!block || block->kind != CodeBlock::Function) return nullptr;
  Nesting nesting(in_progress_, name);
  ParsingCharge charge = chargeParsing(*file, block->begin, block->end);
  charge.keepTrees();
  chargeDefinitions(qualified, 1, *file, block->begin, block->end);
  Def def = SourceParser(file->source(block->begin, block->end)).parseFunction();
  return &defineFunction(program_, def, {c10::QualifiedName(qualified.prefix()), shared_from_this(), false});
}

c10::TypePtr SourceImporter::defineBlock(
    const c10::QualifiedName& name, const std::shared_ptr<const CodeFile>& file, const CodeBlock& block) {
  DefineOptions options{c10::QualifiedName(name.prefix()), shared_from_this(), false};
  CodeFile::ClassParts parts = file->split(block);
  bool lazy = !parts.methods.empty() && isPlainModule(file->text(block.begin, parts.header_end));
  std::vector<size_t> signatures;
  for (size_t i = 0; lazy && i < parts.methods.size(); ++i) {
    signatures.push_back(file->signatureEnd(parts.methods[i]));
    lazy = signatures.back() != std::string::npos;
  }
  if (!lazy) {
    ParsingCharge charge = chargeParsing(*file, block.begin, block.end);
    if (!parts.methods.empty()) charge.keepTrees();
    chargeDefinitions(name, 1 + countFunctions(file->text(block.begin, block.end)), *file, block.begin, block.end);
    return defineType(program_, SourceParser(file->source(block.begin, block.end)).parseClass(), options);
  }

  chargeDefinitions(name, 1, *file, block.begin, parts.header_end);
  // A class of methods alone needs some statement in its body.
  std::string_view header = file->text(block.begin, parts.header_end);
  size_t first_line = header.find('\n');
  bool bare =
      first_line == std::string_view::npos || header.find_first_not_of(" \n", first_line) == std::string_view::npos;
  ParsingCharge charge = chargeParsing(*file, block.begin, parts.header_end);
  auto source = file->source(block.begin, parts.header_end, bare ? "  pass\n" : "");
  const ClassDef def = SourceParser(std::move(source)).parseClass();
  c10::NamedTypePtr type = defineType(program_, def, options);
  auto cls = type->cast<c10::ClassType>();
  CRESSET_CHECK(cls, "a class that extends Module is a class");
  requireFewMembers(
      program_, name.name(), cls->numAttributes() + cls->numConstants() + parts.methods.size(), def.name().range());
  for (size_t i = 0; i < parts.methods.size(); ++i) declareMethod(cls, file, parts.methods[i], signatures[i]);
  return cls;
}

void SourceImporter::declareMethod(
    const c10::ClassTypePtr& cls, const std::shared_ptr<const CodeFile>& file, const CodeBlock& block,
    size_t signature_end) {
  ParsingCharge charge = chargeParsing(*file, block.begin, signature_end + 1);
  chargeDefinitions(*cls->name(), 1, *file, block.begin, signature_end + 1);
  Def head = SourceParser(file->source(block.begin, signature_end + 1, "\n  pass\n")).parseFunction();
  bool is_static = !takesSelf(head, *cls);
  c10::TypePtr self_type = is_static ? c10::TypePtr() : c10::TypePtr(cls);
  // The raw pointer keeps the class from owning itself: functions live as long as the program, which owns the class.
  c10::ClassType* raw = is_static ? nullptr : cls.get();
  auto body = [importer = shared_from_this(), file, block, raw](Function& function) {
    Def def = SourceParser(file->source(block.begin, block.end)).parseFunction();
    emitFunction(function, def, importer, raw ? c10::TypePtr(raw->shared_from_this()) : c10::TypePtr());
  };
  c10::QualifiedName name(*cls->name(), head.name().name());
  Function& function = program_.declare(name, std::move(body));
  function.setSourceRange(head.range());
  function.setSchema(schemaOf(head, program_, shared_from_this(), self_type));
  if (is_static)
    cls->addStaticMethod(&function);
  else
    cls->addMethod(&function);
}

bool SourceImporter::isNamespace(const std::string& name) {
  if (isUnder(kCustomClasses, name)) return true;  // a prefix of the place of C++ classes
  if (isUnder(name, kCustomClasses)) {
    // A name space of C++ classes: one dotted name below; the class itself is found before this is asked.
    return name.find('.', kCustomClasses.size() + 1) == std::string::npos;
  }
  if (code_records_.empty()) {
    for (const ZipEntry& entry : zip_->entries()) {
      const std::string_view record = zip_->recordName(entry);
      if (record.starts_with(code_) && record.ends_with(".py")) code_records_.push_back(record);
    }
    std::ranges::sort(code_records_);
  }
  std::string path = pathOf(code_, name);
  if (zip_->find(path + ".py")) return true;
  path += '/';
  const auto first = std::ranges::lower_bound(code_records_, path);
  return first != code_records_.end() && first->starts_with(path);
}

c10::TypePtr SourceImporter::parseType(const std::string& annotation, const ArchiveSite& site) {
  const ParsingCharge charge(budget_, site, annotation.size());
  auto source = std::make_shared<Source>(annotation, "<type>");
  return typeOfAnnotation(SourceParser(source).parseType(), program_, shared_from_this());
}

SugaredValuePtr SourceImporter::resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) {
  if (name == kRoot) return makeNamespaceValue(shared_from_this(), name);
  if (name == "CONSTANTS") return makeConstantsValue(shared_from_this());
  // What the printer writes for floats that have no literal.
  if (name == "inf" || name == "nan")
    return std::make_shared<SimpleValue>(cx.graph.insertConstant(
        name == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN()));
  if (name == "infj" || name == "nanj")
    return std::make_shared<SimpleValue>(cx.graph.insertConstant(c10::complex<double>(
        0, name == "infj" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN())));
  if ((name == "torch" || name == "ops") && hasChangedOperators(version_))
    return makeVersionedValue(builtinResolver()->resolveValue(name, cx, range), version_);
  return nullptr;
}

c10::TypePtr SourceImporter::resolveType(const std::string& name, const SourceRange& range) {
  c10::TypePtr type = findType(name);
  if (!type && isUnder(name, kCustomClasses))
    throw UserError(
        "The custom class '" + name +
            "' is not registered: load the library that defines it first "
            "(torch.ops.load_library in Python, dlopen or linking in C++).",
        range);
  if (isUnder(name, kCustomClasses)) {
    if (const auto& policy = program_.rules().policy) policy->checkClass(name, range);
  }
  return type;
}

}  // namespace cresset
