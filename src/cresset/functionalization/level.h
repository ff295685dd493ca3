// A live program without mutation: while a level is open on a thread, what the thread computes with tensors comes from
// pure operators.
//
// Tensors from outside (arguments, parameters, what a closure holds) stay the program's: `x.add_(1)` returns x, and
// hooks, `requires_grad` and identity are those of x. What operators get for them are wrappers (wrapper.h), one per
// tensor, whose memory begins with the tensor as its value; tensors that share a storage get parts of one memory. Only
// when the level is closed, or the program looks past the operators at the elements (`sync`), are tensors that were
// written given their new values, by one copy_ each. Results of operators are wrappers, which become tensors then.
//
// Autograd (tape.h): a wrapper for a tensor that requires gradients has a node that hands its gradient on to that
// tensor's place on the tape. Version counters are the tensors'.
//
// Threads: a level belongs to the thread that opened it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/functionalization/wrapper.h"
#include "cresset/ops/operator_clients.h"

namespace cresset::live {

class Level final : public OperatorClient {
 public:
  /// `copies_views`: views are no operators of what runs below, either; they are copies, and so are results that are
  /// views in the program.
  explicit Level(bool copies_views = false);
  ~Level() override;
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack) override;
  c10::SymInt sizeOf(const at::Tensor& tensor, int64_t dim) override;
  c10::SymInt argumentOf(const at::Tensor& tensor, const std::string& name, int64_t number) override;
  at::Tensor knownOutside(const at::Tensor& tensor) override;
  at::Tensor elementsOf(const at::Tensor& tensor) override;
  void runWithSizesOf(const at::Tensor& tensor, const std::function<void()>& run) override;
  void runDecomposed(
      const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments,
      const std::function<void()>& run) override;

  /// The wrapper that operators get for a tensor from outside; the tensor itself, if it stays as it is (sparse, a
  /// wrapper of this level, what functorch wraps).
  at::Tensor lift(const at::Tensor& tensor);
  /// A tensor with memory that has the tensor's elements now. `shares`: it is given to who may read or write that
  /// memory later, so it is the tensor's from now on.
  at::Tensor sync(const at::Tensor& tensor, bool shares);
  /// Gives tensors from outside that were written their new values. Wrappers stand for tensors from then on. Called
  /// with the level's scope closed. If it throws, the level is closed nevertheless.
  void close();
  /// After close: the tensor that a result of the program is. The same tensor, if no mode or client around the level
  /// has to see how it becomes one.
  at::Tensor leave(const at::Tensor& tensor);
  /// After close: calls `visit` with each wrapper that lives, or value that only the level has had, and the tensor for
  /// which it stands from now on.
  void visitStanding(const std::function<void(const at::Tensor&, const at::Tensor&)>& visit) const;
  /// After the results have left: makes tensors of the wrappers that are still somewhere.
  void settle();
  // For backends, which compute with values themselves while the level is open.
  /// A tensor of the program's, of memory of its own, that has the elements of `tensor`.
  at::Tensor wrap(const at::Tensor& tensor);
  /// A tensor with the elements of one of the program's. Who writes to it breaks the program.
  at::Tensor unwrap(const at::Tensor& tensor);
  /// Gives a tensor of the program's other elements, which the tensors that share its memory get by commitUpdate.
  void replace(const at::Tensor& tensor, const at::Tensor& value);
  void commitUpdate(const at::Tensor& tensor);
  const LevelState& state() const { return *state_; }
  /// Whether what the level calls is seen by something around it.
  bool isSeen() const;
  /// By something else than levels around.
  bool isSeenBeyondLevels() const;
  /// Makes the memory of a tensor from outside that of all of its storage. False if it can't be.
  bool takeStorageOf(const Memory& memory);

  /// The last message of a UserError that a call ended in.
  const std::string& refusal() const { return refusal_; }

 private:
  struct Entry {
    at::Tensor tensor, wrapper;
    const c10::StorageImpl* storage = nullptr;
    const void* node = nullptr;  // of the tape: where the tensor was on it
    at::Tensor whole;            // with the sizes and strides that it came with, once it has others
    bool requires_grad = false;
    bool is_copied_on_tape = false;  // its last elements came by a copy_ that autograd has recorded
  };
  class ReadScope;
  const detail::ClientFrame* frameAround() const;
  /// Null if the client is no level, or there is none.
  static Level* levelOf(const detail::ClientFrame* frame) {
    return frame ? dynamic_cast<Level*>(frame->client) : nullptr;
  }
  OperatorClient* outer() const;
  void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);
  bool passRead(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);
  void letDecompose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);
  bool isMadeForReading(const c10::OperatorHandle& op) const;
  bool canBeCalledWhole(c10::DispatchKeySet keys, std::span<const c10::IValue> arguments) const;
  void runReading(
      const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack,
      const std::vector<size_t>& reads);
  /// Where torch.tensor has filled a literal, it becomes a tensor of the program's own. False for any other call.
  bool convertLiteral(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);
  bool takeLiteral(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);
  /// A tensor that the program has just made, without elements, gets a storage from outside, as unpickling does. False
  /// for any other call.
  bool takeStorage(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack);
  void checkMemory(const Entry& entry) const;
  bool isOfTransform(const at::Tensor& tensor) const;
  bool isFromOutside(const at::Tensor& tensor) const;
  at::Tensor enterAround(const at::Tensor& tensor) const;
  const c10::StorageImpl* storageAround(const at::Tensor& tensor) const;
  at::Tensor wrapShared(const at::Tensor& tensor, const at::Tensor& around, const Entry& first);
  static const detail::ClientFrame* clientsOf(const at::Tensor& tensor);
  static void makePlaceAgain(const at::Tensor& tensor);
  Entry& enter(const at::Tensor& tensor);
  void link(Entry& entry);
  void followTape(Entry& entry);
  void checkWritten(const at::Tensor& wrapper, bool through_view) const;
  void checkShared(const Memory& memory) const;
  void checkWrites(
      const c10::OperatorHandle& op, std::span<const c10::IValue> given, std::span<const c10::IValue> wrapped);
  void refuseInnerTrace() const;
  static void refuseFakeTangents();
  void checkReplaced(const at::Tensor& tensor) const;
  void announceWrites(const c10::OperatorHandle& op, std::span<const c10::IValue> given) const;
  bool mayFollow(const Entry& entry) const;
  bool hasTapeOfItsOwn(const Entry& entry) const;
  bool placeOnTape(Entry& entry);
  void tellPlaceAround(const at::Tensor& tensor);
  void followWrite(const at::Tensor& wrapper);
  at::Tensor inLevelAround(const at::Tensor& tensor) const;
  Entry* ownerInAutograd(const at::Tensor& wrapper) const;
  void followPlace(Entry& entry);
  at::Tensor wholeOf(const Entry& entry) const;
  void copyBack(Entry& entry);
  at::Tensor leaveBase(const at::Tensor& wrapper);
  Entry* ownerOf(const Memory& memory) const;
  at::Tensor copyOf(const Part& whole) const;
  at::Tensor wrapperOfProgram(const at::Tensor& tensor, const char* function);
  at::Tensor leaveFunctorch(const at::Tensor& tensor);
  /// Whether it is one of a nested level that is closed.
  bool isOfNested(const Wrapper* wrapper) const;
  at::Tensor standingFor(const at::Tensor& tensor);
  bool settles() const;
  bool isWatched() const;
  bool settlesByCopies() const;
  bool settle(const at::Tensor& tensor);
  Level* around() const;
  bool handOver(const at::Tensor& tensor, Level& around);
  void handOverAll(Level& around);

  std::shared_ptr<LevelState> state_;
  std::string refusal_;
  const void* recording_mode_ = nullptr;  // that of make_fx, if one was on when the level was opened
  std::vector<at::Tensor> read_;          // what a composite kernel that runs reads past the operators
  std::unordered_map<const c10::TensorImpl*, std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> in_order_;
  std::unordered_map<const c10::TensorImpl*, Entry*> by_wrapper_;
  std::unordered_map<const c10::StorageImpl*, std::vector<Entry*>> by_storage_;
  /// Storages that were given away of tensors from outside which no operator has had.
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> given_away_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> literals_;  // results that torch.tensor fills
  std::unordered_map<const c10::TensorImpl*, at::Tensor> left_;      // by wrapper that is no view
  /// Wrappers of nested levels, and for what they stand.
  std::unordered_map<const c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>> standing_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> results_;
  bool is_handed_over_ = false;
  std::unordered_map<const c10::TensorImpl*, PartPtr> handed_over_;  // which parts the wrappers were
};

/// Sets what is called with tensors of programs before they are written while modes of Python are on, which see no
/// writes.
void setWriteObserver(std::function<void(const at::Tensor&)> observer);

}  // namespace cresset::live
