// Definitions of an archive's code, made in a Program when something first names them.
//
// The class `__torch__.a.b.C` is defined in code/__torch__/a/b.py. A module class is declared with its attributes and
// the signatures of its methods; a method's body is parsed and compiled at its first call. So loading costs what the
// objects' classes declare, and nothing that the archive holds is executed.
//
// Thread-safety: called with the Program's definition lock held, as all resolvers are.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/archive/code_file.h"
#include "cresset/frontend/compiler.h"

namespace cresset {

class SourceImporter final : public Resolver, public std::enable_shared_from_this<SourceImporter> {
 public:
  /// The importer belongs to functions of `program`, which outlives it. `version` is the archive's file format.
  /// Definitions stand in files under the folder `code`.
  SourceImporter(std::shared_ptr<const ZipReader> zip, Program& program, int64_t version, std::string code = "code/")
      : zip_(std::move(zip)), program_(program), version_(version), code_(std::move(code)) {
    setLimit(LoadBudget::defaultLimit(zip_->bytes()->size()));
  }

  /// The class, interface, enum, named tuple or registered C++ class of this name; null if there is none.
  c10::TypePtr findType(const std::string& qualified_name);
  Function* findFunction(const std::string& qualified_name);
  /// Whether some name of the archive starts with this.
  bool isNamespace(const std::string& qualified_name);
  /// Names are kept with all of their parts, by each definition: throws UserError at one that no program has.
  static void requireShortName(std::string_view qualified_name);
  /// What a definition keeps beside what it is parsed from.
  static size_t definitionBytes(const c10::QualifiedName& name);
  /// The type that an annotation means; throws UserError.
  c10::TypePtr parseType(const std::string& annotation, const ArchiveSite& site);

  /// Charges the budget for parsing a piece of code; when it goes away, only what definitions keep stays charged.
  class ParsingCharge {
   public:
    ParsingCharge(LoadBudget* budget, const ArchiveSite& site, size_t size);
    ~ParsingCharge();
    ParsingCharge(const ParsingCharge&) = delete;
    ParsingCharge& operator=(const ParsingCharge&) = delete;
    void keepTrees() { released_ = 0; }  // of functions that are compiled later

   private:
    LoadBudget* budget_;
    size_t released_ = 0;
  };

  /// Adds to a module class the functions of a file, the first parameter of which is `self`: the older layout.
  void declareMethods(const c10::ClassTypePtr& cls, const std::string& record, const std::string& debug_record);

  /// What CONSTANTS.cN refers to.
  void setConstants(std::vector<c10::IValue> constants) { constants_ = std::move(constants); }
  const std::vector<c10::IValue>& constants() const { return constants_; }
  int64_t version() const { return version_; }

  /// Off, errors don't look for the files that the code was written in. To be called before anything is imported.
  void setDebugFiles(bool on) { debug_files_ = on; }
  /// While this is set, code that is read and parsed is charged to it.
  void setBudget(LoadBudget* budget) { budget_ = budget; }
  /// How much the texts that are read later may take, and debug records: for each as much as loading. To be called
  /// before anything is imported.
  void setLimit(size_t bytes) {
    later_ = LoadBudget(bytes);
    debug_budget_ = std::make_shared<DebugBudget>(bytes);
  }

  SugaredValuePtr resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) override;
  c10::TypePtr resolveType(const std::string& name, const SourceRange& range) override;

 private:
  // The file that defines names of this prefix; null if the archive has none.
  const std::shared_ptr<const CodeFile>& fileOf(const std::string& prefix);
  c10::TypePtr defineBlock(
      const c10::QualifiedName& name, const std::shared_ptr<const CodeFile>& file, const CodeBlock& block);
  void declareMethod(
      const c10::ClassTypePtr& cls, const std::shared_ptr<const CodeFile>& file, const CodeBlock& block,
      size_t signature_end);
  std::shared_ptr<const CodeFile> readFile(
      const ZipEntry& entry, const std::string& record, const std::string& debug_record);
  ParsingCharge chargeParsing(const CodeFile& file, size_t begin, size_t end);
  void chargeDefinitions(const c10::QualifiedName& name, size_t count, const CodeFile& file, size_t begin, size_t end);

  std::shared_ptr<const ZipReader> zip_;
  Program& program_;
  int64_t version_;
  std::string code_;
  bool debug_files_ = true;
  LoadBudget* budget_ = nullptr;
  LoadBudget later_{0};  // of texts that are read after loading
  std::shared_ptr<DebugBudget> debug_budget_;
  std::unordered_map<std::string, std::shared_ptr<const CodeFile>> files_;  // by prefix; null: no such file
  std::unordered_set<std::string> in_progress_;
  std::vector<std::string_view> code_records_;  // names of code files, sorted; filled on first use
  std::vector<c10::IValue> constants_;
};

}  // namespace cresset
