// NumPy's .npy files: a magic, a header that is a Python dict literal, then the bytes.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided_ops.h>

#include <bit>
#include <fstream>
#include <map>
#include <regex>

#include "arguments.h"
#include "cresset/support/error.h"

namespace cresset::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// NumPy's kind and size to dtype, and back. Files are little-endian or have one-byte elements.
const std::map<std::string, c10::ScalarType> kTypes = {
    {"f2", c10::kHalf},           {"f4", c10::kFloat}, {"f8", c10::kDouble}, {"c8", c10::kComplexFloat},
    {"c16", c10::kComplexDouble}, {"i1", c10::kChar},  {"i2", c10::kShort},  {"i4", c10::kInt},
    {"i8", c10::kLong},           {"b1", c10::kBool},  {"u1", c10::kByte},   {"u2", c10::kUInt16},
    {"u4", c10::kUInt32},         {"u8", c10::kUInt64}};

at::Tensor emptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype) {
  return at::_ops::empty_strided::call(
      c10::fromIntArrayRefSlow(sizes), c10::fromIntArrayRefSlow(strides), dtype, std::nullopt, std::nullopt,
      std::nullopt);
}

}  // namespace

at::Tensor readNpy(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  auto bad = [&](const std::string& why) { return UserError(path + ": " + why); };
  std::ifstream in(path, std::ios::binary);
  if (!in) throw bad("cannot be opened");
  char start[8];
  if (!in.read(start, 8) || std::string_view(start, 6) != kMagic) throw bad("is not a .npy file");
  uint32_t header_size = 0;
  const int width = start[6] == 1 ? 2 : 4;
  if (start[6] < 1 || start[6] > 3 || !in.read(reinterpret_cast<char*>(&header_size), width)) {
    throw bad("has an unknown .npy version or is cut off");
  }
  if (header_size > 1 << 20) throw bad("has a header of " + std::to_string(header_size) + " bytes");
  std::string header(header_size, '\0');
  if (!in.read(header.data(), header_size)) throw bad("is cut off inside its header");

  std::smatch match;
  if (!std::regex_search(header, match, std::regex(R"('descr'\s*:\s*'([<>|=])([a-zA-Z]\d+)')"))) {
    throw bad("has a dtype that tensors lack (structured, object or text)");
  }
  const std::string order = match[1], kind = match[2];
  const auto type = kTypes.find(kind);
  if (type == kTypes.end()) throw bad("has dtype " + order + kind + ", which tensors lack");
  if (order == ">") throw bad("is big-endian; save it with .astype('<" + kind + "')");
  const bool fortran = std::regex_search(header, std::regex(R"('fortran_order'\s*:\s*True)"));
  if (!std::regex_search(header, match, std::regex(R"('shape'\s*:\s*\(([\d,\s]*)\))"))) throw bad("has no shape");
  std::vector<int64_t> sizes;
  const std::string shape = match[1];
  const std::regex number(R"(\d+)");
  for (std::sregex_iterator it(shape.begin(), shape.end(), number), end; it != end; ++it) {
    if (it->length() > 18) throw bad("has an absurd shape");
    sizes.push_back(std::stoll(it->str()));
  }

  const auto data_start = in.tellg();
  in.seekg(0, std::ios::end);
  const auto available = static_cast<uint64_t>(in.tellg() - data_start);
  in.seekg(data_start);
  uint64_t bytes = c10::elementSize(type->second);
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) throw bad("has an absurd shape");
  }
  if (bytes > available) {
    throw bad(
        "is cut off: " + std::to_string(bytes) + " bytes of data are declared, " + std::to_string(available) +
        " are there");
  }
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const size_t i = fortran ? k : sizes.size() - 1 - k;
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  at::Tensor result = emptyStrided(sizes, strides, type->second);
  in.read(static_cast<char*>(result.mutable_data_ptr()), static_cast<std::streamsize>(bytes));
  return result;
}

void writeNpy(const std::string& path, const at::Tensor& tensor) {
  std::string descr;
  for (const auto& [name, dtype] : kTypes) {
    if (dtype == tensor.scalar_type()) descr = (c10::elementSize(dtype) == 1 ? "|" : "<") + name;
  }
  if (descr.empty()) throw UserError(path + ": NumPy has no dtype for " + c10::toString(tensor.scalar_type()));
  std::string shape;
  for (int64_t size : tensor.sizes()) shape += std::to_string(size) + ",";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ').push_back('\n');
  const at::Tensor data = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg();
  const auto size = static_cast<uint16_t>(header.size());
  std::ofstream out(path, std::ios::binary);
  out.write(kMagic.data(), kMagic.size());
  out.write("\x01\x00", 2);
  out.write(reinterpret_cast<const char*>(&size), 2);
  out << header;
  out.write(static_cast<const char*>(data.const_data_ptr()), static_cast<std::streamsize>(data.nbytes()));
  if (!out.flush()) throw UserError(path + ": cannot be written");
}

}  // namespace cresset::cli
