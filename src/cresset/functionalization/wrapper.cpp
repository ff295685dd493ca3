#include "cresset/functionalization/wrapper.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/clone_ops.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "cresset/support/error.h"

namespace cresset::live {

namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;

c10::DispatchKeySet keysFor(const at::Tensor& like) {
  const c10::DispatchKey backend = c10::computeDispatchKey(like.scalar_type(), c10::kStrided, like.device());
  c10::DispatchKeySet keys = c10::DispatchKeySet(backend).add(kKey);
  if (like.is_conj()) keys = keys.add(c10::DispatchKey::Conjugate);
  if (like.is_neg()) keys = keys.add(c10::DispatchKey::Negative);
  return keys;
}

/// Without bytes: whoever asks for its address, to which a tensor's offset would be added, gets an error.
c10::Storage storageWithoutBytes(const at::Tensor& value) {
  c10::Storage storage(
      c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, value.device()), /*allocator=*/nullptr,
      /*resizable=*/false);
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "A tensor that cresset.functionalize has for one of the program has no elements in memory. If the program keeps "
      "a tensor for later, return it: what a function returns are tensors again; cresset.functional.sync(tensor) has "
      "the elements.");
  return storage;
}

thread_local bool hidden_from_modes = false;

std::function<bool(const at::Tensor&, const at::Tensor&)> fakes_python_object;

}  // namespace

// Chains of views may be longer than the stack is deep.
Part::~Part() {
  PartPtr next = std::move(parent);
  while (next && next.use_count() == 1) {
    PartPtr after = std::move(next->parent);
    next = std::move(after);
  }
}

Wrapper::Wrapper(PartPtr part, const at::Tensor& like, const std::optional<c10::SymInt>& offset)
    : TensorImpl(c10::Storage(part->memory->stand_in), keysFor(like), like.dtype()), part_(std::move(part)) {
  device_opt_ = like.device();
  setGeometry(like, offset);
}

c10::intrusive_ptr<Wrapper> Wrapper::make(
    PartPtr part, const at::Tensor& like, const std::optional<c10::SymInt>& offset) {
  auto wrapper = c10::make_intrusive<Wrapper>(std::move(part), like, offset);
  wrapper->joinList();
  return wrapper;
}

/// Weak references may outlive what the wrapper holds.
void Wrapper::release_resources() {
  leaveList();
  part_.reset();
  TensorImpl::release_resources();
}

/// The list has a weak reference: without one, who drops the last strong reference does not look whether another thread
/// has taken one meanwhile.
void Wrapper::joinList() {
  level_ = part_->memory->level;
  c10::raw::weak_intrusive_ptr::incref(this);
  const std::lock_guard lock(level_->mutex);
  next_ = level_->wrappers;
  if (next_) next_->previous_ = this;
  level_->wrappers = this;
}

void Wrapper::leaveList() {
  const std::shared_ptr<LevelState> level = std::move(level_);
  if (!level) return;
  {
    const std::lock_guard lock(level->mutex);
    if (next_) next_->previous_ = previous_;
    (previous_ ? previous_->next_ : level->wrappers) = next_;
    next_ = previous_ = nullptr;
  }
  c10::raw::weak_intrusive_ptr::decref(this);
}

std::vector<at::Tensor> livingWrappers(LevelState& level) {
  std::vector<at::Tensor> wrappers;
  const std::lock_guard lock(level.mutex);
  for (Wrapper* wrapper = level.wrappers; wrapper; wrapper = wrapper->next_) {
    // Null if another thread is dropping the last reference: that one waits for the lock.
    if (c10::intrusive_ptr_target* living = c10::raw::weak_intrusive_ptr::lock(wrapper))
      wrappers.emplace_back(c10::intrusive_ptr<c10::TensorImpl>::reclaim(static_cast<c10::TensorImpl*>(living)));
  }
  return wrappers;
}

bool Wrapper::settle(bool copies) {
  const at::Tensor value = current(part_, copies);
  const c10::TensorImpl& impl = *value.unsafeGetTensorImpl();
  constexpr c10::DispatchKeySet kNotPlain({kKey, c10::DispatchKey::Functionalize});
  if (value.key_set().has_any(kNotPlain | kFunctorchWrappers) || !impl.has_storage()) return false;
  const bool is_fake = value.key_set().has_any(kPython);
  if (is_fake) {
    const at::Tensor self(c10::intrusive_ptr<TensorImpl>::reclaim_copy(this));
    if (!fakes_python_object || !fakes_python_object(self, value)) return false;
  } else if (impl.has_symbolic_sizes_strides()) {
    return false;
  }
  storage_ = value.storage();
  key_set_ = key_set_.remove(kKey);
  const bool fixed = !allow_tensor_metadata_change();
  set_allow_tensor_metadata_change(true);
  if (has_symbolic_sizes_strides() || value.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    set_sizes_and_strides(value.sym_sizes(), value.sym_strides(), value.sym_storage_offset());
  } else {
    set_sizes_and_strides(value.sizes(), value.strides(), value.storage_offset());
  }
  set_allow_tensor_metadata_change(!fixed);
  _set_conj(value.is_conj());
  _set_neg(value.is_neg());
  if (is_fake) {
    key_set_ = key_set_ | (value.key_set() & kPython);
    device_opt_ = storage_.device();  // of the one that it stands for, the Python object knows
    set_python_custom_device(true);
  }
  part_.reset();
  leaveList();
  return true;
}

void setFakePythonObjects(std::function<bool(const at::Tensor&, const at::Tensor&)> fakes) {
  fakes_python_object = std::move(fakes);
}

void Wrapper::adopt(PartPtr part, const at::Tensor& like) {
  leaveList();
  storage_ = c10::Storage(part->memory->stand_in);
  const bool fixed = !allow_tensor_metadata_change();
  set_allow_tensor_metadata_change(true);
  setPart(std::move(part), like);
  set_allow_tensor_metadata_change(!fixed);
  joinList();
}

void Wrapper::setGeometry(const at::Tensor& like, const std::optional<c10::SymInt>& offset) {
  if (has_symbolic_sizes_strides() || like.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    set_sizes_and_strides(like.sym_sizes(), like.sym_strides(), offset.value_or(like.sym_storage_offset()));
  } else {
    set_sizes_and_strides(like.sizes(), like.strides(), offset ? offset->expect_int() : like.storage_offset());
  }
  part_->repeats = (part_->parent && part_->parent->repeats) || !isInjective(like);
}

void Wrapper::setPart(PartPtr part, const at::Tensor& like, const std::optional<c10::SymInt>& offset) {
  part_ = std::move(part);
  setGeometry(like, offset);
}

c10::intrusive_ptr<c10::TensorImpl> Wrapper::shallow_copy_and_detach(
    const c10::VariableVersion& version_counter, bool allow_metadata_change) const {
  if (!part_) return TensorImpl::shallow_copy_and_detach(version_counter, allow_metadata_change);
  if (!part_->memory->level->open) {
    const c10::impl::ExcludeDispatchKeyGuard past_transforms(kTransforms);
    const at::Tensor value = current(part_);
    // A copy of a fake tensor without its Python object would be none.
    if (!value.key_set().has_any(kPython))
      return value.unsafeGetTensorImpl()->shallow_copy_and_detach(version_counter, allow_metadata_change);
  }
  const at::Tensor self(c10::intrusive_ptr<TensorImpl>::reclaim_copy(const_cast<Wrapper*>(this)));
  // As any tensor: with a version if it is made outside of inference mode, and then the keys of the original.
  auto copy = make(part_, self);
  copy->key_set_ = key_set_;
  if (!copy->is_inference()) copy->set_version_counter(version_counter);
  copy->set_allow_tensor_metadata_change(allow_metadata_change);
  return copy;
}

c10::intrusive_ptr<c10::TensorImpl> Wrapper::shallow_copy_and_detach(
    c10::VariableVersion&& version_counter, bool allow_metadata_change) const {
  return shallow_copy_and_detach(static_cast<const c10::VariableVersion&>(version_counter), allow_metadata_change);
}

void Wrapper::shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& other) {
  if (!part_) return TensorImpl::shallow_copy_from(other);
  throw UserError(
      "Within cresset.functionalize, a tensor can't be given other memory (`x.data = y`, `set_`): assign the elements "
      "with `x.copy_(y)`, or use y itself");
}

Wrapper* wrapperOf(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.key_set().has(kKey)) return nullptr;
  return dynamic_cast<Wrapper*>(tensor.unsafeGetTensorImpl());
}

bool makesInferenceTensors() {
  return c10::InferenceMode::is_enabled();
}

at::Tensor wrapperFor(
    PartPtr part, const at::Tensor& like, bool is_inference, const std::optional<c10::SymInt>& offset) {
  std::optional<c10::InferenceMode> mode;  // it gives the wrapper its keys
  if (is_inference != makesInferenceTensors()) mode.emplace(is_inference);
  return at::Tensor(Wrapper::make(std::move(part), like, offset));
}

at::Tensor wrapFresh(const at::Tensor& value, const std::shared_ptr<LevelState>& level, bool is_inference) {
  if (level->copies_views && value.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    throw UserError(
        "Within cresset.functionalize, views can't be removed where sizes are symbolic: use remove=\"mutations\", or "
        "fixed sizes");
  }
  auto memory = std::make_shared<Memory>();
  memory->level = level;
  memory->value = value;
  memory->stand_in = storageWithoutBytes(value);
  memory->offset = value.unsafeGetTensorImpl()->has_symbolic_sizes_strides() ? 0 : value.storage_offset();
  if (wrapperOf(value) || value.has_storage()) memory->bytes = storageBytes(value);
  return wrapperFor(std::make_shared<Part>(std::move(memory)), value, is_inference);
}

at::Tensor standIn(const at::Tensor& like) {
  at::Tensor result(at::detail::empty_meta({0}, like.scalar_type()));
  // No view reaches beyond it.
  result.unsafeGetTensorImpl()->unsafe_storage().set_nbytes(size_t(1) << 62);
  c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  impl._set_conj(like.is_conj());
  impl._set_neg(like.is_neg());
  return result;
}

at::Tensor detached(const at::Tensor& value) {
  if (value.key_set().has_any(kPython)) return value;
  const c10::impl::ExcludeDispatchKeyGuard past_transforms(kTransforms);  // of the `detach` that modes see
  return at::Tensor(value.unsafeGetTensorImpl()->shallow_copy_and_detach(
      value.is_inference() ? c10::VariableVersion() : c10::VariableVersion(0), /*allow_metadata_change=*/true));
}

at::Tensor detachedHidden(const at::Tensor& value, const LevelState& level) {
  std::optional<c10::impl::ExcludeDispatchKeyGuard> hidden;
  if (level.copies_views || takesFakeTensorsOnly()) hidden.emplace(kPython);
  const Emission emission(level);  // of the `detach` that modes see
  return detached(value);
}

at::Tensor detachedOrCopied(const at::Tensor& value, const LevelState& level) {
  const bool is_seen = c10::impl::TorchDispatchModeTLS::any_modes_set() &&
                       !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python);
  const Emission emission(level);
  return level.copies_views && is_seen ? at::_ops::clone::call(value, std::nullopt) : detached(value);
}

// ---- Where operators go

namespace {

/// Whether PyTorch's modes of Python see what this thread calls.
void showToModes(bool shown) {
  hidden_from_modes = !shown;
  c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::Python, !shown);
  c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::PythonTLSSnapshot, !shown);
}

}  // namespace

// Where modes are hidden, both of their keys are excluded.
Emission::Emission(const LevelState& level, bool recorded) : was_hidden_(hidden_from_modes) {
  if (!recorded) below_.emplace();
  if (was_hidden_) showToModes(true);
  if (!level.open) return;
  for (const detail::ClientFrame* frame = detail::activeClients(); frame; frame = frame->outer) {
    if (frame->client != level.client) continue;
    outward_.emplace(frame->outer);
    return;
  }
}

Emission::~Emission() {
  outward_.reset();
  if (was_hidden_) showToModes(false);
}

HiddenFromModes::HiddenFromModes()
    : python_(c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python)),
      snapshot_(c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::PythonTLSSnapshot)),
      before_(hidden_from_modes) {
  // Where the modes do not see the caller either, what is emitted stays hidden from them.
  if (python_ && !before_) return;
  hidden_from_modes = true;
  c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::Python, true);
  c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::PythonTLSSnapshot, true);
}

HiddenFromModes::~HiddenFromModes() {
  hidden_from_modes = before_;
  c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::Python, python_);
  c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::PythonTLSSnapshot, snapshot_);
}

bool HiddenFromModes::active() {
  return hidden_from_modes;
}

ShownToFakeModes::ShownToFakeModes() : shows_(hidden_from_modes && takesFakeTensorsOnly()) {
  if (shows_) showToModes(true);
}

ShownToFakeModes::~ShownToFakeModes() {
  if (shows_) showToModes(false);
}

bool takesFakeTensorsOnly() {
  return c10::impl::TorchDispatchModeTLS::get_mode(c10::impl::TorchDispatchModeKey::FAKE).has_value();
}

}  // namespace cresset::live
