// Pickles to values, directed by the types that the archive's code declares.
//
// An attribute's value must have its declared type before anyone can see it: compiled code trusts types and checks
// nothing. So a value is built for the type that is wanted of it (which also gives lists and dicts their element
// types) and refused if it does not fit. Nesting is limited, values that refer to themselves are refused, and a value
// that occurs in several places stays one value.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/archive/tensor_reader.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/ops/policy.h"

namespace cresset {

/// An object whose class has a `__setstate__` of its own in the archive's code, and the state to give it.
struct PendingState {
  c10::intrusive_ptr<c10::ivalue::Object> object;
  c10::IValue state;
};

struct UnpickleContext {
  const ZipReader& zip;
  LoadBudget& budget;
  TensorReader& tensors;
  /// The class, enum or named tuple of this name, or null. Absent: the pickle may hold plain values only.
  std::function<c10::TypePtr(const std::string& qualified_name, const ArchiveSite& site)> find_type;
  /// The type that an annotation means. Throws.
  std::function<c10::TypePtr(const std::string& annotation, const ArchiveSite& site)> parse_type;
  /// Where objects with a scripted `__setstate__` go; null if the archive's code must not run.
  std::vector<PendingState>* pending = nullptr;
  Door door = Door::Cpp;
  /// The tensors that a pickle of the older layout refers to by number; null in others.
  const std::vector<at::Tensor>* tensor_table = nullptr;
};

/// Why an archive is refused whose objects restore themselves: what follows "class 'C' restores its objects".
std::string setstateRefusal(Door door);

/// The value of record `prefix`.pkl, whose tensors are records under `prefix`/. `type` is what it must be (null: any).
/// Throws ArchiveError.
c10::IValue unpickle(const UnpickleContext& context, const std::string& prefix, const c10::TypePtr& type = nullptr);

/// The values of the tuple or list in record `prefix`.pkl, each of its type in `types` (null, or none: any).
std::vector<c10::IValue> unpickleAll(
    const UnpickleContext& context, const std::string& prefix, const std::vector<c10::TypePtr>& types);

}  // namespace cresset
