// Reading `.pt` archives: zip container, pickles, code, tensors.
//
// Loading and compiling never execute anything that an archive holds: pickles may name only the classes that the
// archive's own code defines and a fixed list of rebuild functions; code is declared lazily and compiled when called.
// Tensors are mapped from the file, privately, and not read until they are touched.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/ops/policy.h"
#include "cresset/program/program.h"

namespace cresset {

struct LoadOptions {
  /// Where tensors go; by default where they were saved (CPU if that device does not exist here is an error, as in
  /// torch.jit).
  std::optional<c10::Device> device;
  /// In: names of extra files to read ("metadata.json"). Out: their contents; names that the archive lacks stay as they
  /// were.
  std::unordered_map<std::string, std::string>* extra_files = nullptr;
  /// Whether errors in the archive's code point into the files that it was written in, as its debug records say.
  bool debug_files = true;
  /// Whether the archive comes from a source that you would let run code on this machine. If not, its code is refused
  /// operators that touch files or the process, trust their arguments' claims about memory, or come from other
  /// libraries than PyTorch (docs/decisions/0003-untrusted-programs.md), when a method that calls one is compiled. And
  /// an archive whose scripted classes restore their objects by a `__setstate__` of their own is an error: that is code
  /// of the archive, run once everything is loaded (docs/decisions/0002-setstate.md). Classes that are registered from
  /// C++ restore their objects in any case: that is the user's own code.
  bool trusted = false;
  /// What an untrusted archive may use nevertheless: "aten::from_file", "torchvision::*", "torch.classes.mylib.Store".
  std::vector<std::string> allow_ops;
  /// Of each call of the archive's code from outside; that of memory also of loading, beside the file's own bytes.
  Limits limits;
  /// How much memory loading may take beside the mapped file; by default 4 times the file's size and 48 MiB, and
  /// anything if the archive is trusted. The limit of memory above holds, too.
  std::optional<size_t> memory_limit;
  /// Whether to compare the checksums of all records first, those of tensors too, which reads the whole file. Without
  /// it, tensors are mapped and not looked at.
  bool verify = false;
  /// Whose options messages name.
  Door door = Door::Cpp;
};

/// The root object of an archive and the program that its code was declared in.
/// What compiles later (method bodies, at their first call) throws UserError if it is wrong.
struct LoadedArchive {
  c10::intrusive_ptr<c10::ivalue::Object> root;
  std::shared_ptr<Program> program;
  int64_t version = 0;  // of the file format
};

/// Throw ArchiveError.
LoadedArchive loadArchive(const std::string& path, const LoadOptions& options = {});
LoadedArchive loadArchive(std::istream& stream, const LoadOptions& options = {});
/// `keep_alive` is held as long as a tensor refers to the buffer.
LoadedArchive loadArchive(
    const void* data, size_t size, std::shared_ptr<void> keep_alive, const LoadOptions& options = {});

/// The value in a file that torch.save wrote: tensors, numbers, strings, and tuples, lists and dicts of them. Classes
/// are an error, and nothing is executed. Throws ArchiveError.
c10::IValue loadValue(const std::string& path, std::optional<c10::Device> device = std::nullopt);
/// `keep_alive` is held as long as a tensor refers to the buffer.
c10::IValue loadValue(
    const void* data, size_t size, std::shared_ptr<void> keep_alive, std::optional<c10::Device> device = std::nullopt);

}  // namespace cresset
