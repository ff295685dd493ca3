// From bytes to a root object: the order in which an archive's parts are read. See archive.h.
#include "cresset/archive/archive.h"

#include <ATen/core/class_type.h>
#include <caffe2/serialize/versions.h>

#include <algorithm>

#include "cresset/archive/legacy_reader.h"
#include "cresset/archive/source_importer.h"
#include "cresset/archive/unpickler.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/policy.h"
#include "cresset/ops/tensor_memory.h"
#include "cresset/program/definition_lock.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

using caffe2::serialize::kMaxSupportedFileFormatVersion;
using caffe2::serialize::kMinSupportedFileFormatVersion;

// What a zip file without TorchScript's records is, for people who mixed up their files.
[[noreturn]] void failNotTorchScript(const ZipReader& zip) {
  ArchiveSite site{zip.file(), ""};
  auto fail = [&](const std::string& reason) { site.fail(reason); };
  if (zip.find("archive_format") || zip.find("serialized_exported_program.json") || zip.find("models/model.json"))
    fail("this is a program of torch.export (.pt2), not a TorchScript archive; load it with torch.export.load");
  if (zip.find(".data/extern_modules"))
    fail("this was written by torch.package, and holds Python code instead of TorchScript");
  if (zip.find("data.pkl"))
    fail(
        "this was written by torch.save and holds no TorchScript (PytorchStreamReader failed locating file "
        "constants.pkl); use torch.load");
  site.fail(
      "not a TorchScript archive: it has no record constants.pkl (PytorchStreamReader failed locating file "
      "constants.pkl)");
}

// The decimal number in a record.
int64_t readVersion(const ZipReader& zip, LoadBudget& budget) {
  const ZipEntry* entry = zip.find(".data/version");
  if (!entry) entry = zip.find("version");
  if (!entry) throw ArchiveError(zip.file(), "version", ArchiveError::kNoOffset, "the archive has no version record");
  Record record = zip.read(*entry, budget);
  auto site = zip.site(*entry, record.fileOffset());
  std::string_view text = record.bytes();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  bool valid = !text.empty() && text.size() <= 18 &&
               std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!valid) site.fail("the version is no number");
  int64_t version = std::stoll(std::string(text));
  if (version > static_cast<int64_t>(kMaxSupportedFileFormatVersion))
    site.fail(
        "Attempted to read a PyTorch file with version " + std::to_string(version) +
        ", but the maximum supported version for reading is " + std::to_string(kMaxSupportedFileFormatVersion) +
        ". A newer PyTorch wrote it; a newer Cresset may read it");
  if (version < static_cast<int64_t>(kMinSupportedFileFormatVersion))
    site.fail(
        "Attempted to read a PyTorch file with version " + std::to_string(version) +
        ", but the minimum supported version for reading is " + std::to_string(kMinSupportedFileFormatVersion));
  return version;
}

bool isBigEndian(const ZipReader& zip, LoadBudget& budget) {
  const ZipEntry* entry = zip.find("byteorder");
  if (!entry) return false;
  Record record = zip.read(*entry, budget);
  if (record.bytes() == "big") return true;
  if (record.bytes() != "little")
    zip.site(*entry, record.fileOffset()).fail("the byte order is neither 'little' nor 'big'");
  return false;
}

// Runs `f`, in which code of the archive may be parsed: an error in it is an error of the archive.
template <typename F>
auto asArchiveError(const ZipReader& zip, const ArchiveSite* site, F&& f) {
  try {
    return f();
  } catch (const UserError& error) {
    if (auto source = std::dynamic_pointer_cast<const SourcePart>(error.range().source))
      throw ArchiveError(zip.file(), source->name(), source->inWhole(error.range()).begin, error.what());
    if (site) site->fail(error.what());
    throw ArchiveError(zip.file(), "", ArchiveError::kNoOffset, error.what());
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    if (site) site->fail(error.what_without_backtrace());
    throw ArchiveError(zip.file(), "", ArchiveError::kNoOffset, error.what_without_backtrace());
  }
}

// Restores the state of objects whose classes restore themselves, innermost first, as the pickle lists them.
void restorePending(const ZipReader& zip, std::vector<PendingState>& pending) {
  ArchiveSite site{zip.file(), "data.pkl"};
  for (PendingState& p : pending) {
    auto cls = p.object->type();
    std::string name = cls->name()->qualifiedName();
    Stack stack{c10::IValue(p.object), std::move(p.state)};
    try {
      cls->getMethod("__setstate__").run(stack);
    } catch (const LimitError&) {
      throw;
    } catch (const std::exception& error) {
      site.fail("__setstate__ of class '" + name + "' failed: " + error.what());
    }
    for (size_t i = 0; i < cls->numAttributes(); ++i) {
      // Slots start as None; code that reads one must find what the class declares.
      if (p.object->getSlot(i).isNone() && !c10::NoneType::get()->isSubtypeOf(*cls->getAttribute(i)))
        site.fail(
            "The field '" + cls->getAttributeName(i) + "' of class '" + name +
            "' was left uninitialized after __setstate__, but expected a value of type '" +
            cls->getAttribute(i)->annotation_str() + "'");
    }
  }
}

void readExtraFiles(const ZipReader& zip, LoadBudget& budget, std::unordered_map<std::string, std::string>& files) {
  for (auto& [name, contents] : files)
    if (const ZipEntry* entry = zip.find("extra/" + name)) contents = zip.readOwned(*entry, budget);
}

Limits limitsOfUntrusted() {
  Limits limits;
  if (const int64_t milliseconds = options::untrusted_milliseconds()) limits.seconds = 1e-3 * double(milliseconds);
  if (const int64_t bytes = options::untrusted_memory()) limits.memory = static_cast<size_t>(bytes);
  return limits;
}

// What loading may take. A limit of memory holds beside the archive's own bytes: tensors that can't be mapped are
// copied.
LoadBudget budgetOf(const LoadOptions& options, std::optional<size_t> memory, size_t usual, size_t file_size) {
  const size_t limit = options.memory_limit.value_or(usual);
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  const size_t given = memory && *memory < kMost - file_size ? *memory + file_size : kMost;
  if (given < limit) return LoadBudget(given, "", "its size and the limit of memory that was given");
  return LoadBudget(limit, "If you trust where it comes from, load it with " + howToTrust(options.door));
}

/// Limits of time hold for loading, too. They are meant for calls, so that what the file's size asks for is added:
/// tensors may have to be copied to a device.
template <typename F>
auto withinTime(const Limits& limits, size_t file_size, F&& load) {
  constexpr double kBytesPerSecond = 1e8;
  std::shared_ptr<RunBudget> budget = RunBudget::currentShared();
  const std::optional<double> seconds = tightest(limits, threadLimits()).seconds;
  if (seconds) {
    const double more = 1 + static_cast<double>(file_size) / kBytesPerSecond;
    budget = std::make_shared<RunBudget>(Limits{*seconds + more, std::nullopt}, std::move(budget));
  }
  const BudgetScope scope(std::move(budget));
  try {
    return load();
  } catch (const ScriptRaise& error) {
    if (error.pythonClass() != kLimitErrorClass) throw;
    throw LimitError(std::string("loading an archive: ") + error.what(), error.pythonClass(), {});
  }
}

LoadedArchive readArchive(std::shared_ptr<ArchiveBytes> bytes, const LoadOptions& options, const Limits& limits) {
  const size_t limit = options.trusted ? std::numeric_limits<size_t>::max() : LoadBudget::defaultLimit(bytes->size());
  LoadBudget budget = budgetOf(options, tightest(limits, threadLimits()).memory, limit, bytes->size());
  auto zip = std::make_shared<const ZipReader>(std::move(bytes), budget);
  if (options.verify) zip->verify(budget);
  const bool model_json = zip->find("model.json");  // the layout of PyTorch 1.0 to 1.2
  if (!model_json && (!zip->find("constants.pkl") || !zip->find("data.pkl"))) failNotTorchScript(*zip);

  LoadedArchive result;
  result.version = readVersion(*zip, budget);
  bool swap_bytes = isBigEndian(*zip, budget);
  result.program = Program::make();
  ProgramRules rules{.policy = nullptr, .limits = limits};
  if (!options.trusted) rules.policy = std::make_shared<const OperatorPolicy>(options.allow_ops, options.door);
  result.program->setRules(std::move(rules));
  if (result.program->rules().limits.memory) countTensorMemory();
  auto importer =
      std::make_shared<SourceImporter>(zip, *result.program, result.version, model_json ? "libs/" : "code/");
  importer->setDebugFiles(options.debug_files);
  importer->setLimit(budget.limit());
  TensorReader tensors(*zip, budget, options.device, swap_bytes, options.trusted);
  std::vector<PendingState> pending;

  UnpickleContext context{*zip, budget, tensors, nullptr, nullptr, options.trusted ? &pending : nullptr};
  context.door = options.door;
  context.find_type = [&](const std::string& name, const ArchiveSite& site) {
    return asArchiveError(*zip, &site, [&] { return importer->resolveType(name, {}); });
  };
  context.parse_type = [&](const std::string& annotation, const ArchiveSite& site) {
    return asArchiveError(*zip, &site, [&] { return importer->parseType(annotation, site); });
  };

  {
    const auto lock = lockDefinitions(*result.program);
    importer->setBudget(&budget);
    struct Unset {
      SourceImporter& importer;
      ~Unset() { importer.setBudget(nullptr); }
    } unset{*importer};

    if (model_json) {
      result.root = asArchiveError(*zip, nullptr, [&] { return readModelJson(context, importer, *result.program); });
    } else {
      c10::IValue constants = unpickle(context, "constants");
      if (!constants.isTuple()) throw ArchiveError(zip->file(), "constants.pkl", 0, "the constants are no tuple");
      try {
        requireFewElements(constants, "visiting the constants");
      } catch (const ScriptRaise& error) {
        throw ArchiveError(zip->file(), "constants.pkl", ArchiveError::kNoOffset, error.what());
      }
      importer->setConstants(constants.toTupleRef().elements().vec());

      c10::IValue root = unpickle(context, "data");
      if (!root.isObject()) throw ArchiveError(zip->file(), "data.pkl", 0, "the root is no object");
      result.root = root.toObject();
    }
    if (options.extra_files) readExtraFiles(*zip, budget, *options.extra_files);
  }
  restorePending(*zip, pending);
  return result;
}

LoadedArchive loadFrom(std::shared_ptr<ArchiveBytes> bytes, const LoadOptions& options) {
  const Limits limits = options.trusted ? options.limits : tightest(options.limits, limitsOfUntrusted());
  return withinTime(limits, bytes->size(), [&] { return readArchive(std::move(bytes), options, limits); });
}

}  // namespace

LoadedArchive loadArchive(const std::string& path, const LoadOptions& options) {
  return loadFrom(ArchiveBytes::map(path), options);
}

LoadedArchive loadArchive(std::istream& stream, const LoadOptions& options) {
  return loadFrom(ArchiveBytes::read(stream), options);
}

LoadedArchive loadArchive(const void* data, size_t size, std::shared_ptr<void> keep_alive, const LoadOptions& options) {
  return loadFrom(ArchiveBytes::wrap(data, size, std::move(keep_alive)), options);
}

namespace {

c10::IValue readValue(std::shared_ptr<ArchiveBytes> bytes, std::optional<c10::Device> device) {
  LoadBudget budget(LoadBudget::defaultLimit(bytes->size()));
  ZipReader zip(std::move(bytes), budget);
  TensorReader tensors(zip, budget, device, isBigEndian(zip, budget), /*trusted=*/true);
  // Only types without classes: tags that C++ writers leave.
  auto program = Program::make();
  UnpickleContext context{zip, budget, tensors, nullptr, nullptr, nullptr};
  context.parse_type = [&](const std::string& annotation, const ArchiveSite& site) {
    return asArchiveError(zip, &site, [&] {
      const SourceImporter::ParsingCharge charge(&budget, site, annotation.size());
      auto source = std::make_shared<Source>(annotation, "<type>");
      const auto lock = lockDefinitions(*program);
      return typeOfAnnotation(SourceParser(source).parseType(), *program, nullptr);
    });
  };
  return unpickle(context, "data");
}

c10::IValue valueFrom(std::shared_ptr<ArchiveBytes> bytes, std::optional<c10::Device> device) {
  return withinTime({}, bytes->size(), [&] { return readValue(std::move(bytes), device); });
}

}  // namespace

c10::IValue loadValue(const std::string& path, std::optional<c10::Device> device) {
  return valueFrom(ArchiveBytes::map(path), device);
}

c10::IValue loadValue(
    const void* data, size_t size, std::shared_ptr<void> keep_alive, std::optional<c10::Device> device) {
  return valueFrom(ArchiveBytes::wrap(data, size, std::move(keep_alive)), device);
}

}  // namespace cresset
