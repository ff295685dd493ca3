// What a command-line word means; see arguments.h.
#include "arguments.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>

#include <filesystem>

#include "cresset/archive/archive.h"
#include "cresset/module/module.h"
#include "cresset/support/error.h"
#ifdef CRESSET_HAS_SNDFILE
#include <sndfile.hh>
#endif

namespace cresset::cli {
namespace {

at::Tensor readSound(const std::string& path) {
#ifdef CRESSET_HAS_SNDFILE
  SndfileHandle file(path);
  if (file.error()) throw UserError(path + ": " + file.strError());
  at::Tensor sound = at::_ops::empty_memory_format::call(
      {file.frames(), file.channels()}, c10::kFloat, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  const sf_count_t read = file.readf(sound.mutable_data_ptr<float>(), file.frames());
  if (read != file.frames()) throw UserError(path + ": is cut off");
  return file.channels() == 1 ? sound.squeeze(1) : sound.t().contiguous();
#else
  throw UserError(path + ": this build reads no sound files; rebuild it with libsndfile installed");
#endif
}

c10::IValue readFile(const std::string& path) {
  if (!std::filesystem::exists(path)) throw UserError(path + ": there is no such file");
  std::string extension = std::filesystem::path(path).extension();
  for (char& c : extension) c = static_cast<char>(std::tolower(c));
  if (extension == ".npy") return readNpy(path);
  if (extension == ".pt" || extension == ".pth") return loadValue(path);
  if (extension == ".wav" || extension == ".flac" || extension == ".ogg" || extension == ".aiff")
    return readSound(path);
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
    const size_t position = result.positional.size() + 1;  // behind self
    const bool known = position < declared.size();
    const std::string name = known ? declared[position].name() : std::to_string(position);
    result.positional.push_back(parseArgument(word, known ? declared[position].type() : c10::TypePtr(), name));
  }
  return result;
}

}  // namespace cresset::cli
