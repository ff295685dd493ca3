// What a plan is specialized to: the kinds of the values that a call brings and the state of the thread around it.
//
// A signature is a row of words, cheap to read and to compare: one for the ambient state, then one per value that is
// looked at, in the order of the inputs; the elements of tuples follow each other. Sizes are never part of it. What is
// looked at, and how it is read, is said by the rows of interpreter/guards.def: a reader is a sequence of them, made
// once per function and run without allocating memory.
//
//   arguments             tensors, bools, what may be None; of functions that ask for it, the layout of tensors
//   attributes of `self`  those that the function reads and nothing in it writes, as inputs after the others; strings
//                         among them, too, by their text, and integers and lists of them that nothing
//                         writes to, as long as calls bring few
//   entries               tensors in dicts and lists that are arguments, at constant keys, likewise; None if absent
//   all else              nothing
//
// For functions that write to what comes in, the words go on with which of the tensors share memory: 0 if none do. For
// functions that differentiate, the last word is whether autograd knows no more of the tensors than the words say: no
// two are one tensor, and those that require gradients are leaves without hooks.
//
// Thread-safety: SignatureReader is immutable, but for what it notes of integers, which is atomic.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/interpreter/value_kind.h"
#include "cresset/ir/graph.h"
#include "cresset/program/executable.h"

namespace cresset {

using Signature = c10::SmallVector<uint64_t, 16>;

/// The state of the calling thread that decides what operators do: a word made of the ambient rows of guards.def.
class AmbientState {
 public:
  enum class Field : uint8_t {
#define AMBIENT(Name, bits, read, text) Name,
#include "cresset/interpreter/guards.def"
  };
  explicit AmbientState(uint64_t word) : word_(word) {}
  static AmbientState now();
  /// For who has the thread's keys of the dispatcher at hand.
  static AmbientState now(const c10::impl::LocalDispatchKeySet& local);

  uint64_t word() const {
    return word_;
  }
  uint64_t get(Field field) const;
  bool recordsGradients() const {
    return get(Field::Gradients) == 1;
  }
  AutocastState autocast() const;
  /// Whether no part of the dispatcher is left out, as code does that runs inside of an operator.
  bool isUsualDispatch() const {
    return get(Field::Dispatch) == 0;
  }
  std::string toString() const;

 private:
  uint64_t word_;
};

/// An attribute that is read when a plan is entered: through the objects in `slots` from an argument. Or, with a key,
/// an entry of the dict or list that the argument is, of type Optional[Tensor].
struct AttributePath {
  uint32_t argument = 0;
  std::vector<uint32_t> slots;
  c10::TypePtr type;
  std::string name;  // "self.encoder.weight", "data['pos']"
  std::optional<c10::IValue> key;
};

/// What functions may want to know of tensors beyond their kinds.
struct SignatureInterest {
  bool memory = false;  // which ones share memory
  bool tape = false;    // where they stand on autograd's tape
  bool layout = false;
};

/// Why a call has no signature.
enum class Unreadable : uint8_t {
  Transformed,  // the thread records or transforms what it runs: a trace, a dispatch mode, functorch
  Hooked,       // hooks look at the tensors that autograd saves, or it looks for NaN
  NotPlain,  // a tensor is a subclass, sparse, quantized, nested, conjugated, undefined, or on a device of unknown kind
};

/// Whether values of this type have words of their own in signatures.
bool isSpecialized(const c10::Type& type);

/// Whether gradients that come to the tensor show nowhere but in a call that asks for them: it requires none, or is a
/// leaf without hooks.
bool isPlainLeaf(const c10::TensorImpl& tensor);

/// The kinds that an attribute had: a counter is not to make a plan for each number.
class FewKinds {
 public:
  /// The word, or that of kind Other from when there were too many.
  uint64_t note(uint64_t word);

 private:
  static constexpr size_t kFew = 2;
  std::array<std::atomic<uint64_t>, kFew> words_{};  // 0 where there is none yet
  std::atomic<bool> are_many_{false};
};

class SignatureReader {
 public:
  SignatureReader() = default;
  /// For functions with arguments of these types; `attributes` in the order in which they are to be read, those of one
  /// object in sequence, entries last.
  SignatureReader(
      std::vector<c10::TypePtr> arguments, std::vector<AttributePath> attributes, SignatureInterest interest);

  /// Reads the attributes after the arguments onto the stack, and the signature of all. If it says why not, the stack
  /// is as it was, and the call must run the unoptimized program.
  std::optional<Unreadable> read(Stack& stack, Signature& signature) const;

  std::span<const c10::TypePtr> arguments() const { return arguments_; }
  std::span<const AttributePath> attributes() const { return attributes_; }

  /// What a signature tells of values: of which input, and what.
  struct Described {
    size_t input;  // arguments, then attributes
    ValueKind kind;
  };
  std::vector<Described> describe(const Signature& signature) const;
  static AmbientState ambient(const Signature& signature) { return AmbientState(signature[0]); }
  /// For each tensor of a signature, the first one that shares memory with it, by their order among the tensors.
  /// Nothing if the signature does not tell.
  std::vector<int64_t> sharedMemory(const Signature& signature) const;
  /// Whether no two tensors are one, and those that require gradients are leaves without hooks. False if the signature
  /// does not tell.
  bool hasPlainLeaves(const Signature& signature) const { return interest_.tape && signature.back() != 0; }

 private:
  /// A row of guards.def and what it works on.
  struct Instruction {
    enum class Op : uint8_t {
#define LOAD(Name, instruction) Name,
#define GUARD(Name, fits, read) Name,
#define TENSORS_GUARD(Name, read) Name,
#include "cresset/interpreter/guards.def"
    } op;
    uint8_t depth = 0;   // of objects between an argument and its attribute
    uint32_t index = 0;  // of the argument, element, slot or entry; of what FEW_GUARD has seen
  };

  void add(Instruction::Op op, size_t index = 0, size_t depth = 0);
  void addGuard(Guard guard, size_t input);
  void addArgument(size_t argument, const c10::Type& type, std::vector<size_t>& elements);
  void addAttribute(size_t index, const AttributePath* previous);

  static bool readObject(
      const Instruction& step, c10::SmallVectorImpl<const c10::ivalue::Object*>& objects,
      c10::SmallVectorImpl<c10::IValue>& owners);

  std::vector<c10::TypePtr> arguments_;
  std::vector<AttributePath> attributes_;
  SignatureInterest interest_;
  std::vector<Instruction> program_;
  std::vector<size_t> inputs_;  // of each word that is about a value
  std::shared_ptr<std::deque<FewKinds>> few_ = std::make_shared<std::deque<FewKinds>>();
  size_t max_depth_ = 0;
};

}  // namespace cresset
