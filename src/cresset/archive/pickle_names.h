// The global names that a pickle in an archive may use, and what they mean.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

#include "cresset/archive/pickle_machine.h"

namespace cresset {

enum class PickleName : int {
  ArchiveClass,  // __torch__.…: a class of the archive's own code, or a registered C++ class
  RebuildTensor,
  RebuildQuantized,
  RebuildSparse,
  RebuildParameter,
  OrderedDict,
  Size,  // torch.Size
  Device,
  Complex,
  IntList,
  FloatList,
  BoolList,
  TensorList,
  TensorFromId,  // build_tensor_from_id(number), and TensorID objects of PyTorch 1.1
  OldIntList,    // IntList objects of PyTorch 1.1
  TypeTag,       // restore_type_tag(value, "type")
  UntypedStorage,
  // From here on a number is part of the kind.
  QScheme = 0x1000,  // + c10::QScheme
  DType = 0x2000,    // + c10::ScalarType
  Storage = 0x3000,  // + c10::ScalarType
  End = 0x4000,
};

/// Throws ArchiveError for a name that is not allowed.
int judgePickleName(std::string_view module, std::string_view name, const ArchiveSite& site);

}  // namespace cresset
