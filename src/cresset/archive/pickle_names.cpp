// The list of allowed names. See pickle_names.h.
#include "cresset/archive/pickle_names.h"

#include <c10/core/QScheme.h>

#include <string>
#include <unordered_map>

namespace cresset {

namespace {

// Python's names of dtypes, where they differ from a lower-case ScalarType.
constexpr std::pair<std::string_view, c10::ScalarType> kDTypes[] = {
    {"uint8", c10::kByte},
    {"int8", c10::kChar},
    {"int16", c10::kShort},
    {"int32", c10::kInt},
    {"int64", c10::kLong},
    {"float16", c10::kHalf},
    {"float32", c10::kFloat},
    {"float64", c10::kDouble},
    {"complex32", c10::kComplexHalf},
    {"complex64", c10::kComplexFloat},
    {"complex128", c10::kComplexDouble},
    {"bool", c10::kBool},
    {"bfloat16", c10::kBFloat16},
    {"qint8", c10::kQInt8},
    {"quint8", c10::kQUInt8},
    {"qint32", c10::kQInt32},
    {"uint16", c10::kUInt16},
    {"uint32", c10::kUInt32},
    {"uint64", c10::kUInt64},
    {"float8_e5m2", c10::kFloat8_e5m2},
    {"float8_e4m3fn", c10::kFloat8_e4m3fn},
    {"float8_e5m2fnuz", c10::kFloat8_e5m2fnuz},
    {"float8_e4m3fnuz", c10::kFloat8_e4m3fnuz},
};

using Table = std::unordered_map<std::string, int>;

Table makeTable() {
  auto kind = [](PickleName name, int number = 0) { return static_cast<int>(name) + number; };
  Table table{
      {"torch._utils._rebuild_tensor_v2", kind(PickleName::RebuildTensor)},
      {"torch._utils._rebuild_qtensor", kind(PickleName::RebuildQuantized)},
      {"torch._utils._rebuild_sparse_tensor", kind(PickleName::RebuildSparse)},
      {"torch._utils._rebuild_parameter", kind(PickleName::RebuildParameter)},
      {"collections.OrderedDict", kind(PickleName::OrderedDict)},
      {"torch.Size", kind(PickleName::Size)},
      {"torch.device", kind(PickleName::Device)},
      {"builtins.complex", kind(PickleName::Complex)},
      {"__builtin__.complex", kind(PickleName::Complex)},
      {"torch.jit._pickle.build_intlist", kind(PickleName::IntList)},
      {"torch.jit._pickle.build_doublelist", kind(PickleName::FloatList)},
      {"torch.jit._pickle.build_boollist", kind(PickleName::BoolList)},
      {"torch.jit._pickle.build_tensorlist", kind(PickleName::TensorList)},
      {"torch.jit._pickle.restore_type_tag", kind(PickleName::TypeTag)},
      {"torch.jit._pickle.build_tensor_from_id", kind(PickleName::TensorFromId)},
      {"torch.jit._pickle.TensorID", kind(PickleName::TensorFromId)},
      {"torch.jit._pickle.IntList", kind(PickleName::OldIntList)},
      {"__main__.TensorID", kind(PickleName::TensorFromId)},
      {"__main__.IntList", kind(PickleName::OldIntList)},
      {"torch.storage.UntypedStorage", kind(PickleName::UntypedStorage)},
      {"torch.UntypedStorage", kind(PickleName::UntypedStorage)},
      {"torch.per_tensor_affine", kind(PickleName::QScheme, static_cast<int>(c10::QScheme::PER_TENSOR_AFFINE))},
      {"torch.per_channel_affine", kind(PickleName::QScheme, static_cast<int>(c10::QScheme::PER_CHANNEL_AFFINE))},
      {"torch.per_tensor_symmetric", kind(PickleName::QScheme, static_cast<int>(c10::QScheme::PER_TENSOR_SYMMETRIC))},
      {"torch.per_channel_symmetric", kind(PickleName::QScheme, static_cast<int>(c10::QScheme::PER_CHANNEL_SYMMETRIC))},
      {"torch.per_channel_affine_float_qparams",
       kind(PickleName::QScheme, static_cast<int>(c10::QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS))},
  };
  for (auto [name, dtype] : kDTypes)
    table["torch." + std::string(name)] = kind(PickleName::DType, static_cast<int>(dtype));
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    auto dtype = static_cast<c10::ScalarType>(i);
    std::string name = c10::toString(dtype);
    if (dtype != c10::ScalarType::Undefined && name != "UNKNOWN_SCALAR")
      table["torch." + name + "Storage"] = kind(PickleName::Storage, i);
  }
  return table;
}

}  // namespace

int judgePickleName(std::string_view module, std::string_view name, const ArchiveSite& site) {
  static const Table table = makeTable();
  if (module == "__torch__" || module.substr(0, 10) == "__torch__.") return static_cast<int>(PickleName::ArchiveClass);
  std::string full = std::string(module) + '.' + std::string(name);
  auto it = table.find(full);
  if (it != table.end()) return it->second;
  site.fail(
      "the pickle names '" + full +
      "', which is not allowed: a pickle in an archive may name the classes of the "
      "archive's code and the functions that rebuild tensors and lists, and nothing else");
}

}  // namespace cresset
