// What both layouts of archives are written with. Internal to archive/.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <map>
#include <string>

#include "cresset/archive/archive_names.h"
#include "cresset/archive/code_printer.h"
#include "cresset/archive/save.h"
#include "cresset/archive/zip_writer.h"

namespace cresset {

/// The oldest file format whose readers give the operators of these graphs the meaning that they have today, as
/// torch.jit computes it.
class FormatVersion {
 public:
  explicit FormatVersion(int64_t least) : value_(least) {}
  void cover(const Graph& graph) { cover(graph.block()); }
  int64_t value() const { return value_; }

 private:
  void cover(const Block* block);
  int64_t value_;
};

/// Definitions as files: `__torch__.a.C` stands in `PREFIX__torch__/a.py`.
class CodeFiles {
 public:
  CodeFiles(ArchiveNames& names, const CodeOptions& options, FormatVersion& version)
      : names_(names), options_(options), version_(version) {}
  /// Prints what names have been mentioned and not printed yet, and what those mention.
  void printAll();
  /// Adds the files, in the order of their paths, with their debug records.
  void write(ZipWriter& zip, const std::string& prefix, const std::string& first_line = "") const;

 private:
  ArchiveNames& names_;
  const CodeOptions& options_;
  FormatVersion& version_;
  size_t printed_ = 0;
  std::map<std::string, CodeText> files_;
};

/// The bytes of a storage, on the CPU.
class HostBytes {
 public:
  explicit HostBytes(const c10::Storage& storage);
  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  at::Tensor copy_;
  const void* data_;
  size_t size_;
};

void writeExtraFiles(ZipWriter& zip, const SaveOptions& options);
/// The last records: version, byteorder and the archive's id.
void finishArchive(ZipWriter& zip, int64_t version);

/// The older layout (legacy_writer.cpp).
void writeModelJson(ZipWriter& zip, const c10::IValue& module, const SaveOptions& options);

}  // namespace cresset
