// The order of an archive's parts: values first, since they say which classes are needed, then the code of these, then
// the constants that the code refers to. See save.h.
#include "cresset/archive/save.h"

#include <ATen/core/class_type.h>

#include <ostream>

#include "cresset/archive/archive_writer.h"
#include "cresset/archive/file_writer.h"
#include "cresset/archive/pickler.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr const char* kFolder = "archive";  // of what is written to no file

/// The folder that all of an archive stands in: as in torch's own files, the name of the file without its extension.
std::string folderFor(const std::string& path) {
  const std::string file = path.substr(path.find_last_of("/\\") + 1);
  const std::string name = file.substr(0, file.rfind('.'));
  return name.empty() ? kFolder : name;
}

constexpr int64_t kLeastVersion = 3;  // what torch.jit writes if no operator asks for more

void requireModule(const c10::IValue& module) {
  if (module.isObject() && module.toObject()->type()->is_module()) return;
  throw UserError(
      "Only modules can be saved, not a value of type '" + module.type()->repr_str() +
      "'. Make it an attribute of a module.");
}

void writeStorages(ZipWriter& zip, const StorageTable& table, const std::string& prefix) {
  for (size_t i = 0; i < table.storages().size(); ++i) {
    const c10::Storage& storage = table.storages()[i];
    const std::string record = prefix + std::to_string(i);
    if (storage.device_type() == c10::DeviceType::Meta) {
      zip.add(record, "");  // has sizes and no bytes; torch.jit wants a record all the same
    } else {
      const HostBytes bytes(storage);
      zip.add(record, bytes.data(), bytes.size());
    }
  }
}

void writeCurrent(ZipWriter& zip, const c10::IValue& module, const SaveOptions& options) {
  ArchiveNames names;
  CodeConstants constants;
  const CodeOptions code{.constants = &constants, .type_of_first = true, .names = &names, .importable = true};
  FormatVersion version(kLeastVersion);
  CodeFiles files(names, code, version);

  StorageTable data_storages, constant_storages;
  Pickler data(data_storages, names);
  data.push(module);
  const std::string data_pickle = data.finish();
  files.printAll();
  Pickler table(constant_storages, names);
  table.push(c10::ivalue::Tuple::create(constants.values));
  const std::string constants_pickle = table.finish();
  // Constants may be of classes that nothing else mentions. Their code can't add constants, or these come too late.
  const size_t before = constants.values.size();
  files.printAll();
  if (constants.values.size() != before) {
    throw UserError("A constant of the code can't be saved: its class has code with constants of its own.");
  }

  writeStorages(zip, data_storages, "data/");
  zip.add("data.pkl", data_pickle);
  files.write(zip, "code/");
  writeStorages(zip, constant_storages, "constants/");
  zip.add("constants.pkl", constants_pickle);
  writeExtraFiles(zip, options);
  finishArchive(zip, version.value());
}

}  // namespace

namespace {

void writeArchive(
    const c10::IValue& module, ZipWriter::Sink sink, const SaveOptions& options, const std::string& folder) {
  requireModule(module);
  ZipWriter zip(std::move(sink), folder);
  if (options.layout == ArchiveLayout::ModelJson)
    writeModelJson(zip, module, options);
  else
    writeCurrent(zip, module, options);
}

ZipWriter::Sink sinkOf(FileWriter& file) {
  return [&file](const void* data, size_t size) { file.write(data, size); };
}

ZipWriter::Sink sinkOf(std::ostream& stream) {
  return [&stream](const void* data, size_t size) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (!stream) throw UserError("Can't save: writing to the stream failed.");
  };
}

void writeValue(ZipWriter::Sink sink, const c10::IValue& value, const std::string& folder) {
  ZipWriter zip(std::move(sink), folder);
  ArchiveNames names;
  StorageTable storages;
  Pickler data(storages, names);
  data.push(value);
  const std::string pickle = data.finish();
  if (!names.definitions().empty()) {
    throw UserError(
        "A value of '" + names.definitions().front().name.qualifiedName() +
        "' can't be saved by itself: its file would not hold the class. Make it an attribute of a module, and save "
        "that.");
  }
  writeStorages(zip, storages, "data/");
  zip.add("data.pkl", pickle);
  finishArchive(zip, kLeastVersion);
}

}  // namespace

void saveArchive(const c10::IValue& module, const std::string& path, const SaveOptions& options) {
  FileWriter file(path);
  writeArchive(module, sinkOf(file), options, folderFor(path));
  file.commit();
}

void saveArchive(const c10::IValue& module, std::ostream& stream, const SaveOptions& options) {
  saveArchive(module, sinkOf(stream), options);
}

void saveArchive(const c10::IValue& module, ZipWriter::Sink sink, const SaveOptions& options) {
  writeArchive(module, std::move(sink), options, kFolder);
}

void saveValue(const c10::IValue& value, const std::string& path) {
  FileWriter file(path);
  writeValue(sinkOf(file), value, folderFor(path));
  file.commit();
}

void saveValue(const c10::IValue& value, std::ostream& stream) {
  writeValue(sinkOf(stream), value, kFolder);
}

}  // namespace cresset
