// What a command-line word means; see arguments.h.
#include "arguments.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cresset/archive/archive.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/module/module.h"
#include "cresset/support/error.h"
#include "cresset/support/suggest.h"
#ifdef CRESSET_HAS_SNDFILE
#include <sndfile.hh>
#endif

namespace cresset::cli {
namespace {

/// The samples, or the sampling rate.
c10::IValue readSound(const std::string& path, bool rate) {
#ifdef CRESSET_HAS_SNDFILE
  SndfileHandle file(path);
  if (file.error()) throw UserError(path + ": " + file.strError());
  if (rate) return int64_t(file.samplerate());
  at::Tensor sound = at::_ops::empty_memory_format::call(
      {file.frames(), file.channels()}, c10::kFloat, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  const sf_count_t read = file.readf(sound.mutable_data_ptr<float>(), file.frames());
  if (read != file.frames()) throw UserError(path + ": is cut off");
  return file.channels() == 1 ? sound.squeeze(1) : sound.t().contiguous();
#else
  throw UserError(path + ": this build reads no sound files; rebuild it with libsndfile installed");
#endif
}

/// A file that is no value but a program; torch.save writes the same container, without that record.
bool isProgram(const std::string& path) {
  try {
    auto bytes = ArchiveBytes::map(path);
    LoadBudget budget(LoadBudget::defaultLimit(bytes->size()));
    return ZipReader(std::move(bytes), budget).find("constants.pkl") != nullptr;
  } catch (const Error&) {
    return false;  // loadValue says what is wrong
  }
}

c10::IValue readFile(std::string path) {
  constexpr std::string_view kRate = ":rate";
  const bool rate = path.ends_with(kRate);
  if (rate) path.resize(path.size() - kRate.size());
  if (!std::filesystem::exists(path)) throw UserError(path + ": there is no such file");
  std::string extension = std::filesystem::path(path).extension();
  for (char& c : extension) c = static_cast<char>(std::tolower(c));
  if (extension == ".wav" || extension == ".flac" || extension == ".ogg" || extension == ".aiff")
    return readSound(path, rate);
  if (rate) throw UserError(path + ": only sounds have a rate");
  if (extension == ".npy") return readNpy(path);
  if (extension == ".pt" || extension == ".pth") {
    if (isProgram(path)) {
      throw UserError(
          path + ": is a program, which can't be an argument; `cresset run " + path +
          "` calls it. An argument is a value that torch.save wrote.");
    }
    return loadValue(path);
  }
  throw UserError(path + ": files of type '" + extension + "' are not read; give .npy, .pt or .wav");
}

bool wantsString(const c10::TypePtr& type) {
  if (!type) return false;
  if (type->kind() == c10::TypeKind::StringType) return true;
  if (auto optional = type->cast<c10::OptionalType>()) return wantsString(optional->getElementType());
  return false;
}

}  // namespace

c10::IValue parseArgument(const std::string& word, const c10::TypePtr& type, const std::string& name) {
  if (!word.empty() && word[0] == '@') return readFile(word.substr(1));
  const bool quoted = !word.empty() && (word[0] == '"' || word[0] == '\'');
  if (wantsString(type) && !quoted && word != "None") return word;
  if (word.find_first_not_of(" \t\n") == std::string::npos)
    throw UserError("argument '" + name + "': there is nothing in it");
  try {
    const std::string annotation = type ? " -> " + type->annotation_str() : "";
    CompilationUnit unit;
    try {
      unit.define("def argument()" + annotation + ":\n  return " + word + "\n", nullptr, "argument " + name);
    } catch (const UserError&) {
      // A type that this unit can't name (a class of the archive), or a value of another type: the call reports it.
      unit = CompilationUnit();
      unit.define("def argument():\n  return " + word + "\n", nullptr, "argument " + name);
    }
    return callFunction(unit.get_function("argument"), {});
  } catch (const Error& error) {
    throw UserError("argument '" + name + "': cannot understand '" + word + "'\n" + error.what());
  }
}

namespace {

bool isIdentifier(const std::string& text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), fits);
}

[[noreturn]] void refuseName(const std::string& name, const c10::FunctionSchema& schema) {
  std::vector<std::string> known;
  std::string list;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    known.push_back(schema.arguments()[i].name());
    list += (list.empty() ? "" : ", ") + known.back();
  }
  throw UserError(
      "unknown argument '" + name + "'" + didYouMean(name, known) + ": " + schema.name() + " takes " +
      (known.empty() ? "no arguments" : list));
}

}  // namespace

Arguments parseArguments(const std::vector<std::string>& words, const c10::FunctionSchema& schema) {
  Arguments result;
  const auto& declared = schema.arguments();
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals == std::string::npos ? 0 : equals);
    const auto index = key.empty() ? std::nullopt : schema.argumentIndexWithName(key);
    if (index && *index > 0) {
      result.keywords[key] = parseArgument(word.substr(equals + 1), declared[*index].type(), key);
      continue;
    }
    const size_t position = result.positional.size() + 1;  // after self
    const bool known = position < declared.size();
    // No value of the language begins like that; text may.
    const bool is_comparison = equals + 1 < word.size() && word[equals + 1] == '=';
    if (isIdentifier(key) && !is_comparison && !(known && wantsString(declared[position].type())))
      refuseName(key, schema);
    const std::string name = known ? declared[position].name() : std::to_string(position);
    result.positional.push_back(parseArgument(word, known ? declared[position].type() : c10::TypePtr(), name));
  }
  return result;
}

}  // namespace cresset::cli
