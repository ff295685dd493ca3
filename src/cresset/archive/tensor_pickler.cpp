// Tensors in pickles: the calls that rebuild them. See pickler.h; tensor_builder.cpp reads them.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_indices_ops.h>
#include <ATen/ops/_values_ops.h>
#include <ATen/ops/col_indices_ops.h>
#include <ATen/ops/crow_indices_ops.h>
#include <ATen/ops/q_per_channel_axis_ops.h>
#include <ATen/ops/q_per_channel_scales_ops.h>
#include <ATen/ops/q_per_channel_zero_points_ops.h>
#include <ATen/ops/q_scale_ops.h>
#include <ATen/ops/q_zero_point_ops.h>
#include <ATen/ops/qscheme_ops.h>
#include <ATen/ops/values_ops.h>
#include <c10/core/QScheme.h>

#include "cresset/archive/pickler.h"
#include "cresset/support/error.h"

namespace cresset {

void Pickler::pushTensor(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided) return pushSparse(tensor);
  if (!tensor.has_storage() || tensor.is_nested()) {
    fail("a tensor of type " + tensor.toString() + " has no storage of its own that a file could hold.");
  }
  if (tensor.is_quantized()) return pushQuantized(tensor);
  pushStrided(tensor);
}

void Pickler::pushNoHooks() {
  out_.global("collections", "OrderedDict");
  out_.emptyTuple();
  out_.reduce();
}

void Pickler::pushGeometry(const at::Tensor& tensor) {
  out_.integer(tensor.storage_offset());
  for (const auto& numbers : {tensor.sizes(), tensor.strides()}) {
    out_.mark();
    for (int64_t n : numbers) out_.integer(n);
    out_.tuple();
  }
}

void Pickler::pushStorage(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  const std::string number = std::to_string(storages_.number(storage));
  const std::string type = std::string(c10::toString(tensor.scalar_type())) + "Storage";
  // Readers take a tensor's dtype from its storage's, so a storage that is seen as two dtypes has two ids. Its bytes
  // are one record.
  const std::string key = number + type;
  if (auto it = storage_memo_.find(key); it != storage_memo_.end()) return out_.get(it->second);
  out_.mark();
  out_.string("storage");
  out_.global("torch", type);
  out_.string(number);
  out_.string(tensor.device().str());
  out_.integer(static_cast<int64_t>(storage.nbytes() / tensor.itemsize()));
  out_.tuple();
  out_.persistentId();
  storage_memo_.emplace(key, out_.put());
}

void Pickler::pushStrided(const at::Tensor& tensor) {
  out_.global("torch._utils", "_rebuild_tensor_v2");
  out_.mark();
  pushStorage(tensor);
  pushGeometry(tensor);
  out_.boolean(tensor.requires_grad());
  pushNoHooks();
  if (tensor.is_conj() || tensor.is_neg()) {
    out_.global("torch.jit._pickle", "restore_type_tag");
    out_.mark();
    out_.emptyDict();
    out_.mark();
    for (const auto& [name, on] : {std::pair{"conj", tensor.is_conj()}, std::pair{"neg", tensor.is_neg()}}) {
      if (!on) continue;
      out_.string(name);
      out_.boolean(true);
    }
    out_.setItems();
    out_.string("Dict[str, bool]");
    out_.tuple();
    out_.reduce();
  }
  out_.tuple();
  out_.reduce();
}

void Pickler::pushQuantized(const at::Tensor& tensor) {
  const auto scheme = at::_ops::qscheme::call(tensor);
  const bool per_tensor = scheme == c10::kPerTensorAffine;
  if (!per_tensor && scheme != c10::kPerChannelAffine && scheme != c10::kPerChannelAffineFloatQParams)
    fail("tensors of quantization scheme " + c10::toString(scheme) + " have no form in archives.");
  out_.global("torch._utils", "_rebuild_qtensor");
  out_.mark();
  pushStorage(tensor);
  pushGeometry(tensor);
  out_.mark();
  out_.global(
      "torch", per_tensor                         ? "per_tensor_affine"
               : scheme == c10::kPerChannelAffine ? "per_channel_affine"
                                                  : "per_channel_affine_float_qparams");
  if (per_tensor) {
    out_.number(at::_ops::q_scale::call(tensor));
    out_.integer(at::_ops::q_zero_point::call(tensor));
  } else {
    push(at::_ops::q_per_channel_scales::call(tensor));
    push(at::_ops::q_per_channel_zero_points::call(tensor));
    out_.integer(at::_ops::q_per_channel_axis::call(tensor));
  }
  out_.tuple();
  out_.boolean(tensor.requires_grad());
  pushNoHooks();
  out_.tuple();
  out_.reduce();
}

void Pickler::pushSparse(const at::Tensor& tensor) {
  const bool coo = tensor.layout() == c10::kSparse;
  if (!coo && tensor.layout() != c10::kSparseCsr) {
    fail(
        "archives hold tensors of the layouts strided, sparse COO and sparse CSR; this one has another layout. "
        "Convert it (to_sparse_csr(), to_dense()).");
  }
  out_.global("torch._utils", "_rebuild_sparse_tensor");
  out_.mark();
  out_.integer(static_cast<int64_t>(tensor.layout()));
  out_.mark();
  for (int64_t n : tensor.sizes()) out_.integer(n);
  out_.tuple();
  out_.boolean(tensor.requires_grad());
  const at::Tensor plain = tensor.detach();
  if (coo) {
    push(at::_ops::_indices::call(plain));
    push(at::_ops::_values::call(plain));
  } else {
    push(at::_ops::crow_indices::call(plain));
    push(at::_ops::col_indices::call(plain));
    push(at::_ops::values::call(plain));
  }
  pushNoHooks();
  out_.tuple();
  out_.reduce();
}

}  // namespace cresset
