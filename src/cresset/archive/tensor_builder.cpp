// Arguments of rebuild calls. See tensor_builder.h.
#include "cresset/archive/tensor_builder.h"

#include <c10/core/QScheme.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "cresset/support/error.h"

namespace cresset {

constexpr const char* kNoTensor = "a tensor is expected here";

void TensorBuilder::refuse(uint32_t n, const char* what, const char* wanted) const {
  site(n).fail(std::string(what) + " is no " + wanted);
}

// Many tensors may share a tuple, so a long one is refused before it is copied.
TensorBuilder::Args TensorBuilder::few(uint32_t n, const char* what) {
  if (pickle_.numElements(at(n)) > TensorReader::kMaxDims)
    site(n).fail(
        std::string(what) + " has " + std::to_string(pickle_.numElements(at(n))) + " parts; more than " +
        std::to_string(TensorReader::kMaxDims) + " are not possible");
  return pickle_.elements(at(n));
}

TensorBuilder::Args TensorBuilder::tuple(uint32_t n, const char* what) {
  // A torch.Size is a call with one tuple.
  if (at(n).kind == PickleNode::Call && pickle_.global(at(at(n).p.a)).kind == static_cast<int>(PickleName::Size)) {
    Args args = tuple(at(n).p.b, what);
    if (args.size() != 1 || at(args[0]).kind != PickleNode::Tuple) refuse(n, what, "tuple");
    return few(args[0], what);
  }
  if (at(n).kind != PickleNode::Tuple) refuse(n, what, "tuple");
  return few(n, what);
}

int64_t TensorBuilder::integer(uint32_t n, const char* what) {
  if (at(n).kind != PickleNode::Int) refuse(n, what, "int");
  return at(n).i;
}

std::vector<int64_t> TensorBuilder::integers(uint32_t n, const char* what) {
  std::vector<int64_t> result;
  for (uint32_t e : tuple(n, what)) result.push_back(integer(e, what));
  return result;
}

at::Tensor TensorBuilder::build(uint32_t n, int depth) {
  if (depth > 4) site(n).fail("tensors nest in tensors");  // sparse and quantized ones hold plain ones
  const PickleNode& node = at(n);
  if (node.shared) {
    auto it = built_.find(n);
    if (it != built_.end()) return it->second;
  }
  Args args = tuple(node.p.b, "the arguments of a tensor");
  at::Tensor tensor;
  switch (static_cast<PickleName>(pickle_.global(at(node.p.a)).kind)) {
    case PickleName::RebuildTensor:
      tensor = rebuildTensor(n, args);
      break;
    case PickleName::RebuildQuantized:
      tensor = rebuildQuantized(n, args, depth);
      break;
    case PickleName::RebuildSparse:
      tensor = rebuildSparse(n, args, depth);
      break;
    case PickleName::RebuildParameter:
      tensor = rebuildParameter(n, args, depth);
      break;
    default:
      site(n).fail(kNoTensor);
  }
  if (node.shared) built_.emplace(n, tensor);
  return tensor;
}

at::Tensor TensorBuilder::tensorArgument(uint32_t n, int depth) {
  if (at(n).kind != PickleNode::Call) site(n).fail(kNoTensor);
  return build(n, depth + 1);
}

TensorReader::StorageView TensorBuilder::storage(uint32_t n) {
  if (at(n).kind != PickleNode::Persistent) site(n).fail("a tensor has no storage");
  Args id = tuple(at(n).p.a, "a storage's id");
  if (id.size() != 5 || at(id[0]).kind != PickleNode::String || pickle_.string(at(id[0])) != "storage" ||
      at(id[1]).kind != PickleNode::Global || at(id[2]).kind != PickleNode::String ||
      at(id[3]).kind != PickleNode::String)
    site(n).fail("a storage's id is not (\"storage\", type, record, device, size)");
  int kind = pickle_.global(at(id[1])).kind;
  c10::ScalarType dtype;
  if (kind >= static_cast<int>(PickleName::Storage) && kind < static_cast<int>(PickleName::End))
    dtype = static_cast<c10::ScalarType>(kind - static_cast<int>(PickleName::Storage));
  else if (kind == static_cast<int>(PickleName::UntypedStorage))
    dtype = c10::kByte;
  else
    site(id[1]).fail("'" + std::string(pickle_.global(at(id[1])).name) + "' is no type of storage");
  return reader_.storage(
      prefix_ + std::string(pickle_.string(at(id[2]))), dtype, pickle_.string(at(id[3])),
      integer(id[4], "a storage's size"), site(n));
}

TensorReader::Geometry TensorBuilder::geometry(uint32_t offset, uint32_t sizes, uint32_t strides) {
  TensorReader::Geometry g;
  g.offset = integer(offset, "a tensor's offset");
  g.sizes = integers(sizes, "a tensor's size");
  g.strides = integers(strides, "a tensor's stride");
  return g;
}

void TensorBuilder::setRequiresGrad(at::Tensor& tensor, uint32_t flag) {
  if (at(flag).kind != PickleNode::Bool) site(flag).fail("a tensor's requires_grad is no bool");
  if (at(flag).i == 0) return;
  if (!c10::isFloatingType(tensor.scalar_type()) && !c10::isComplexType(tensor.scalar_type()))
    site(flag).fail(
        std::string("only tensors of floating point and complex type can require gradients, not ") +
        c10::toString(tensor.scalar_type()));
  tensor.set_requires_grad(true);
}

void TensorBuilder::setMathBits(at::Tensor& tensor, uint32_t metadata) {
  // torch.jit tags the dict with its type, Python does not.
  uint32_t n = metadata;
  if (at(n).kind == PickleNode::Call && pickle_.global(at(at(n).p.a)).kind == static_cast<int>(PickleName::TypeTag)) {
    Args args = tuple(at(n).p.b, "a type tag's arguments");
    if (args.empty()) site(n).fail("a type tag has no value");
    n = args[0];
  }
  if (at(n).kind == PickleNode::None) return;
  if (at(n).kind != PickleNode::Dict) site(n).fail("a tensor's metadata is no dict");
  Args items = few(n, "a tensor's metadata");
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (at(items[i]).kind != PickleNode::String || at(items[i + 1]).kind != PickleNode::Bool)
      site(items[i]).fail("a tensor's metadata is not a dict from str to bool");
    std::string_view key = pickle_.string(at(items[i]));
    bool on = at(items[i + 1]).i != 0;
    if (key == "conj" && on && !tensor.is_complex()) site(items[i]).fail("only complex tensors can be conjugates");
    if (key == "conj")
      tensor._set_conj(on);
    else if (key == "neg")
      tensor._set_neg(on);
    else
      site(items[i]).fail("a tensor has the unknown metadata '" + std::string(key) + "'");
  }
}

// (storage, offset, size, stride, requires_grad, backward hooks[, metadata]). Hooks are never saved; the dict is empty.
at::Tensor TensorBuilder::rebuildTensor(uint32_t n, const Args& args) {
  if (args.size() != 6 && args.size() != 7)
    site(n).fail("a tensor is rebuilt from 6 or 7 values, not " + std::to_string(args.size()));
  at::Tensor tensor = reader_.strided(storage(args[0]), geometry(args[1], args[2], args[3]), site(n));
  if (args.size() == 7) setMathBits(tensor, args[6]);
  setRequiresGrad(tensor, args[4]);
  return tensor;
}

// (storage, offset, size, stride, quantizer, requires_grad, backward hooks)
at::Tensor TensorBuilder::rebuildQuantized(uint32_t n, const Args& args, int depth) {
  if (args.size() != 7) site(n).fail("a quantized tensor is rebuilt from 7 values, not " + std::to_string(args.size()));
  auto g = geometry(args[1], args[2], args[3]);
  Args quantizer = tuple(args[4], "a tensor's quantizer");
  int64_t scheme = -1;
  if (!quantizer.empty() && at(quantizer[0]).kind == PickleNode::Global)
    scheme = pickle_.global(at(quantizer[0])).kind - static_cast<int>(PickleName::QScheme);
  if (scheme == static_cast<int64_t>(c10::QScheme::PER_TENSOR_AFFINE) && quantizer.size() == 3) {
    const PickleNode& scale = at(quantizer[1]);
    if (scale.kind != PickleNode::Float) site(n).fail("a quantized tensor's scale is no float");
    return reader_.perTensorQuantized(storage(args[0]), g, scale.f, integer(quantizer[2], "a zero point"), site(n));
  }
  if ((scheme == static_cast<int64_t>(c10::QScheme::PER_CHANNEL_AFFINE) ||
       scheme == static_cast<int64_t>(c10::QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS)) &&
      quantizer.size() == 4) {
    at::Tensor scales = tensorArgument(quantizer[1], depth), zeros = tensorArgument(quantizer[2], depth);
    return reader_.perChannelQuantized(storage(args[0]), g, scales, zeros, integer(quantizer[3], "an axis"), site(n));
  }
  site(n).fail("a tensor's quantizer is of an unknown kind");
}

// torch.jit: (layout, size, requires_grad, parts…, hooks). Python: (layout, (parts…, size[, is_coalesced])).
at::Tensor TensorBuilder::rebuildSparse(uint32_t n, const Args& args, int depth) {
  if (args.size() < 2) site(n).fail("a sparse tensor has no parts");
  auto layout = static_cast<c10::Layout>(integer(args[0], "a sparse tensor's layout"));
  if (layout != c10::kSparse && layout != c10::kSparseCsr && layout != c10::kSparseCsc && layout != c10::kSparseBsr &&
      layout != c10::kSparseBsc)
    site(n).fail("a sparse tensor has an unknown layout");
  size_t count = layout == c10::kSparse ? 2 : 3;
  bool python = args.size() == 2;
  Args parts = python ? tuple(args[1], "the parts of a sparse tensor")
                      : Args(args.begin() + std::min<std::ptrdiff_t>(3, std::ssize(args)), args.end());
  if (parts.size() < count + (python ? 1 : 0)) site(n).fail("a sparse tensor has too few parts");
  auto sizes = integers(python ? parts[count] : args[1], "a sparse tensor's size");
  at::Tensor first = tensorArgument(parts[0], depth), second = tensorArgument(parts[1], depth), tensor;
  if (layout == c10::kSparse)
    tensor = reader_.sparseCoo(sizes, first, second, site(n));
  else
    tensor = reader_.sparseCompressed(layout, sizes, first, second, tensorArgument(parts[2], depth), site(n));
  if (!python) setRequiresGrad(tensor, args[2]);
  return tensor;
}

// (data, requires_grad, backward hooks): a nn.Parameter in a torch.save file.
at::Tensor TensorBuilder::rebuildParameter(uint32_t n, const Args& args, int depth) {
  if (args.size() != 3) site(n).fail("a parameter is rebuilt from 3 values, not " + std::to_string(args.size()));
  at::Tensor tensor = tensorArgument(args[0], depth);
  reader_.chargeTensors(1, static_cast<size_t>(tensor.dim()), site(n));
  tensor = tensor.detach();
  setRequiresGrad(tensor, args[1]);
  return tensor;
}

}  // namespace cresset
