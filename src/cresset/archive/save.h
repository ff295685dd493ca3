// Writing archives: a module as a `.pt` file that torch.jit and Cresset read.
//
// docs/archives.md describes the layouts. The same module becomes the same bytes, whenever it is
// written, but for the folder of its name. What can't be saved throws UserError, which names the attribute, or the line
// of code.
#pragma once

#include <ATen/core/ivalue.h>

#include <iosfwd>
#include <string>
#include <unordered_map>

#include "cresset/archive/zip_writer.h"
#include "cresset/ops/value_file.h"

namespace cresset {

enum class ArchiveLayout {
  Current,    // data.pkl, code/, constants.pkl: what every torch.jit since 1.4 reads
  ModelJson,  // model.json, attributes.pkl, tensors/: what torch.jit wrote up to 1.2 and reads up to 1.10
};

struct SaveOptions {
  /// Further files for the archive, by name ("metadata.json"); they become extra/NAME. May be null.
  const std::unordered_map<std::string, std::string>* extra_files = nullptr;
  ArchiveLayout layout = ArchiveLayout::Current;
};

/// `module`: an object of a module class. To a path: see FileWriter; all of the archive stands in a folder of the
/// file's name without extension, "archive" if there is no file.
void saveArchive(const c10::IValue& module, const std::string& path, const SaveOptions& options = {});
void saveArchive(const c10::IValue& module, std::ostream& stream, const SaveOptions& options = {});
void saveArchive(const c10::IValue& module, ZipWriter::Sink sink, const SaveOptions& options = {});

/// A file that loadValue and torch.load(weights_only=False) read. Objects of classes are an error: a file without code
/// says nothing of them. To a path: see ops/value_file.h.
void saveValue(const c10::IValue& value, std::ostream& stream);

}  // namespace cresset
