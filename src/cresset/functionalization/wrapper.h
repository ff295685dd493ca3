// Tensors of live programs whose writes become new values.
//
// A Wrapper is a tensor without memory of its own: it says which part of a Memory it is. A Memory has a current value,
// a tensor that no operator ever writes to. What writes to a wrapper gives the memory a new value, through the inverses
// of the views between (view_rows.h), and raises its generation; a view is made again from the memory when it is read
// at another generation. So n writes and m views cost n + m.
//
// Wrappers stand below autograd and functorch: DispatchKey::Fake, which PyTorch has no kernels for, comes after both.
// Autograd records wrappers as it would record the tensors for which they stand, with their version counters and views,
// so that gradients and autograd's errors are eager's; what functorch's transforms wrap is a wrapper. The operators
// that the wrappers' kernel emits are pure and know no gradients.
//
// A wrapper belongs to a level (level.h). Once that is closed, its memory is a tensor again, and a wrapper that is
// still somewhere (in what autograd kept, in an object) becomes a tensor of that memory, or a wrapper of the level
// around. Where another client is around the level, it stands for that tensor: it is read and written as it is.
//
// Threads: wrappers of a level are used by one thread at a time; any may drop the last reference to one.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cresset/ops/functorch.h"
#include "cresset/ops/operator_clients.h"

namespace cresset::live {

class Wrapper;

/// What wrappers know of their level, which may be gone.
struct LevelState {
  OperatorClient* client = nullptr;
  bool open = true;
  bool copies_views = false;  // no view is emitted: parts are copies
  std::mutex mutex;
  Wrapper* wrappers = nullptr;  // those that live, a list
};

struct Memory {
  std::shared_ptr<LevelState> level;
  at::Tensor value;         // of the whole; never written to while the level is open
  c10::Storage stand_in;    // without bytes; that of all its wrappers, which share memory
  uint64_t generation = 0;  // of the value
  bool written = false;
  bool settled = false;  // its parts are views of the value, since the level is closed
  bool left = false;     // the tensor that was its value is one of the program's results
  // Several tensors from outside are parts of it. The value is that of all that the level around has of their memory,
  // `around` there; without a level around, the elements of their storage, one after the other.
  bool shared = false;
  at::Tensor around;
  at::Tensor exposed;           // its memory was given away: the value is written to this after each write
  bool has_more = false;        // eager's storage has elements that the value lacks: what was made smaller, or came so
  bool foreign = false;         // it stands for tensors from outside of the level
  bool reaches_beyond = false;  // foreign: writes may go to elements of its storage that no tensor from outside has
  bool follows = false;         // foreign: the operator that runs may give the tensor other sizes and strides
  bool relaid = false;          // computed of copies of views that repeat elements: eager's strides may be others
  // Sparse tensors and their like, which no wrapper stands for: those that have parts of this memory, and the one that
  // it is a part of (sharing.h).
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> holders;
  at::Tensor container;
  c10::SymInt bytes = 0;  // of eager's storage
  int64_t offset = 0;     // the storage offset that the whole has
};

/// A part of a memory.
struct Part {
  std::shared_ptr<Memory> memory;
  std::shared_ptr<Part> parent;           // null: the whole memory
  std::optional<c10::OperatorHandle> op;  // the view of the parent; none: strided
  std::vector<c10::IValue> arguments;     // the first is the parent's place
  int64_t index = -1;                     // in a list of views
  /// Without op: sizes, strides, and the offset relative to the memory's value.
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  bool repeats = false;  // several of its elements, or of what it is a view of, may be one in memory
  // What was computed of it, if that is of the memory's generation.
  at::Tensor value;
  uint64_t generation = 0;
  struct Siblings {
    std::vector<at::Tensor> values;
    uint64_t generation = 0;
  };
  std::shared_ptr<Siblings> siblings;  // of views in a list
  at::Tensor pending;                  // what replace() has set, until commitUpdate()

  explicit Part(std::shared_ptr<Memory> memory) : memory(std::move(memory)) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part();
};
using PartPtr = std::shared_ptr<Part>;

class Wrapper final : public c10::TensorImpl {
 public:
  /// With the sizes, strides, dtype and device of `like`; with its storage offset, unless another is given.
  static c10::intrusive_ptr<Wrapper> make(
      PartPtr part, const at::Tensor& like, const std::optional<c10::SymInt>& offset = std::nullopt);
  /// For make(): in no list yet.
  Wrapper(PartPtr part, const at::Tensor& like, const std::optional<c10::SymInt>& offset);
  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;

  const PartPtr& part() const { return part_; }
  Memory& memory() const { return *part_->memory; }
  /// After an operator that changes which part it is.
  void setPart(PartPtr part, const at::Tensor& like, const std::optional<c10::SymInt>& offset = std::nullopt);

  /// After its level was closed: makes it a tensor that has its part's memory. False if that is no memory of a plain
  /// tensor, or of a fake one. `copies`: of memory of its own, if it is a view.
  bool settle(bool copies);
  /// After its level was closed: makes it a wrapper of that part of another level, with the sizes of `like`.
  void adopt(PartPtr part, const at::Tensor& like);

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(
      const c10::VariableVersion& version_counter, bool allow_metadata_change) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(
      c10::VariableVersion&& version_counter, bool allow_metadata_change) const override;
  void shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& other) override;
  void release_resources() override;

 private:
  const char* tensorimpl_type_name() const override { return part_ ? "cresset's functional tensor" : "TensorImpl"; }
  void setGeometry(const at::Tensor& like, const std::optional<c10::SymInt>& offset);
  void joinList();
  void leaveList();
  friend std::vector<at::Tensor> livingWrappers(LevelState& level);

  PartPtr part_;                       // null once it is a tensor
  std::shared_ptr<LevelState> level_;  // in whose list it is; null if in none
  Wrapper *next_ = nullptr, *previous_ = nullptr;
};

std::vector<at::Tensor> livingWrappers(LevelState& level);

/// Fake tensors are a subclass of torch.Tensor, with memory on the meta device. `fakes` gives the Python object of its
/// first argument the class and the attributes of the second's; false if that is no fake tensor. Called once, before
/// there are levels.
void setFakePythonObjects(std::function<bool(const at::Tensor& tensor, const at::Tensor& value)> fakes);

/// Null if it is none.
Wrapper* wrapperOf(const at::Tensor& tensor);
/// Whether the tensors that the thread makes are inference tensors, to which autograd pays no attention.
bool makesInferenceTensors();
/// A wrapper of memory that has this value; strides and sizes are those of the tensor. `is_inference`: whether it is an
/// inference tensor, as what was lifted is, and what was just made if makesInferenceTensors().
at::Tensor wrapFresh(const at::Tensor& value, const std::shared_ptr<LevelState>& level, bool is_inference);
/// The same of a part; views are inference tensors if what they are views of is one.
at::Tensor wrapperFor(
    PartPtr part, const at::Tensor& like, bool is_inference, const std::optional<c10::SymInt>& offset = std::nullopt);

constexpr c10::DispatchKeySet kPython({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot});
/// At which functorch's transforms see calls, before and after they have computed.
constexpr c10::DispatchKeySet kTransforms(
    {c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode});

/// The tensor that shares the value's memory, without a place on the tape.
at::Tensor detached(const at::Tensor& value);
/// The same, which no mode of Python sees, for what only the level reads. Modes see a `detach` otherwise.
at::Tensor detachedHidden(const at::Tensor& value, const LevelState& level);
/// The same for what the program gets: where views are removed, and modes see it, it is a copy.
at::Tensor detachedOrCopied(const at::Tensor& value, const LevelState& level);

/// While it lives, operators go to the clients outside of the level, if it is one of those that see what the thread
/// calls, and past autograd, functorch's transforms and autocast. `recorded`: autograd sees them.
class Emission {
 public:
  explicit Emission(const LevelState& level, bool recorded = false);
  ~Emission();
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;

 private:
  // Each restores the keys that it found, so they are made in this order.
  c10::impl::ExcludeDispatchKeyGuard past_transforms_{kTransforms | c10::autocast_dispatch_keyset};
  std::optional<at::AutoDispatchBelowADInplaceOrView> below_;
  bool was_hidden_;  // from modes
  std::optional<detail::ActiveClients> outward_;
};

/// While it lives, PyTorch's modes of Python do not see what is called with wrappers: they see what is emitted.
class HiddenFromModes {
 public:
  HiddenFromModes();
  ~HiddenFromModes();
  HiddenFromModes(const HiddenFromModes&) = delete;
  HiddenFromModes& operator=(const HiddenFromModes&) = delete;
  static bool active();

 private:
  bool python_, snapshot_, before_;
};

/// While it lives, modes that take fake tensors see what is called with these, as no kernel knows them without their
/// mode.
class ShownToFakeModes {
 public:
  ShownToFakeModes();
  ~ShownToFakeModes();
  ShownToFakeModes(const ShownToFakeModes&) = delete;
  ShownToFakeModes& operator=(const ShownToFakeModes&) = delete;

 private:
  bool shows_;
};

/// Whether a mode of Python is on that takes fake tensors, and no others: numbers that the program has, say.
bool takesFakeTensorsOnly();

/// The elements of a part now. Emits the views that lead to it, if they are not known.
at::Tensor current(const PartPtr& part);
/// The same; `copies`: those views are made as copies.
at::Tensor current(const PartPtr& part, bool copies);
/// Makes the value that of the part, and of all that shares memory with it. The value gets sizes, strides and bits
/// (conj, neg) of the one before. Throws if several elements of the part are one in memory, or the sizes differ.
void assign(const PartPtr& part, at::Tensor value);
/// The view again, of a tensor that has the parent's place. `copies`: in new memory.
at::Tensor applyView(const Part& part, const at::Tensor& parent, bool copies);
/// Whether the parts of an open level are copies.
bool copiesViews(const LevelState& level);
/// Calls a view, as a copy if `copies`. Throws UserError if it has no form that copies.
void callView(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack, bool copies);
/// The views that the operator returns with these arguments, of which the first is `parent` instead; `copies`: in new
/// memory, laid out in the order of the views' strides.
std::vector<at::Tensor> viewsOf(
    const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments, const at::Tensor& parent, bool copies);
/// Tensors without memory that have sizes, strides and offsets as the views of such a parent have them. Nothing if a
/// view of a user's library has no kernel for tensors without memory.
std::optional<std::vector<at::Tensor>> shapesOfViews(
    const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments, const at::Tensor& parent);
/// Whether each element has an index of its own. Says false where that is hard to know.
bool isInjective(const at::Tensor& tensor);
/// The memory's value again, in memory of its own, with the same strides.
at::Tensor copyOfWhole(const Memory& memory);
/// The part, as a view of a tensor that has the memory's sizes and strides.
at::Tensor placeIn(const Part& part, const at::Tensor& whole);
/// The tensor's elements that eager PyTorch's copy_ takes, where strides of 0 make several of them one.
at::Tensor withoutRepeats(const at::Tensor& tensor);
/// Makes the value, which has the layout of the one before, the memory's.
void assignWhole(Memory& memory, at::Tensor value);
/// The same elements in new memory, with these strides.
at::Tensor copyWithStrides(const at::Tensor& value, c10::SymIntArrayRef strides);
/// A tensor without memory that has sizes, strides, offset and dtype in common with `like`.
at::Tensor standIn(const at::Tensor& like);
/// While it lives, operators are called with stand-ins only, and neither clients nor modes see them.
class StandInScope {
 private:
  ClientPause pause_;
  c10::impl::ForceDispatchKeyGuard guard_{
      c10::DispatchKeySet(c10::DispatchKey::BackendSelect),
      c10::autograd_dispatch_keyset_with_ADInplaceOrView |
          c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot})};
};
/// The size of the tensor's storage in eager PyTorch. A wrapper's own has no bytes.
c10::SymInt storageBytes(const at::Tensor& tensor);
/// All elements of the tensor's storage, one after the other, in that memory.
at::Tensor wholeStorage(const at::Tensor& tensor, const LevelState& level);
/// Makes the memory, which is `tensor`'s until now, that of the tensor's whole storage.
void flatten(const PartPtr& root, const at::Tensor& tensor);
/// Makes the memory, which is one tensor's until now, all of the memory of the level around in which `known` is that
/// tensor.
void shareAround(const PartPtr& root, const PartPtr& known);
/// The part of a memory, whose whole is given, that `like` is of another one.
PartPtr partLike(const PartPtr& like, const PartPtr& whole);

/// Registers the kernel of wrappers. Once per process; more calls do nothing.
void registerWrapperKernel();

}  // namespace cresset::live
