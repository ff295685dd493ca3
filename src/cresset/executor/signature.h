// What a plan is specialized to: the kinds of the values that a call brings and the state of the thread around it.
//
// A signature is a row of words, cheap to read and to compare: one for the ambient state, then one per input, in the
// order of the inputs; the elements of tuples follow each other. Sizes are never part of it.
//
//   Tensor                dtype, rank, device type, whether it requires grad; for functions that ask, the layout
//   Optional              None, or as what it holds
//   bool                  its value
//   attributes of `self`  those that the function reads and nothing in it writes, as inputs behind the others; strings
//                         among them, too, by their text
//   entries               tensors in dicts and lists that are arguments, at constant keys, likewise; None if absent
//   all else              nothing
//
// For functions that write to what comes in, the words go on with which of the tensors share memory: 0 if none do. For
// functions that differentiate, the last word is whether autograd knows no more of the tensors than the words say: no
// two are one tensor, and those that require gradients are leaves without hooks.
//
// Thread-safety: SignatureReader is immutable.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/interpreter/value_kind.h"
#include "cresset/ir/graph.h"
#include "cresset/program/executable.h"

namespace cresset {

using Signature = c10::SmallVector<uint64_t, 16>;

/// The state of the calling thread that decides what operators do: grad mode, inference mode, autocast, default dtype,
/// deterministic mode.
struct AmbientState {
  bool grad_mode = true;
  bool inference_mode = false;
  bool plain = true;  // else something is on (autocast, for one) under which types can't be told before running

  uint64_t word() const;
  static AmbientState of(uint64_t word);
  std::string toString() const;
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

class SignatureReader {
 public:
  SignatureReader() = default;
  /// For functions with arguments of these types; `attributes` in the order in which they are to be read, those of one
  /// object behind each other, entries last.
  SignatureReader(
      std::vector<c10::TypePtr> arguments, std::vector<AttributePath> attributes, SignatureInterest interest);

  /// Reads the attributes after the arguments onto the stack, and the signature of all. If it says why not, the stack
  /// is as it was, and the call must run the unoptimized program.
  std::optional<Unreadable> read(Stack& stack, Signature& signature) const;

  std::span<const c10::TypePtr> arguments() const { return arguments_; }
  std::span<const AttributePath> attributes() const { return attributes_; }
  /// For each tensor of a signature, the first one that shares memory with it, by their order among the tensors.
  /// Nothing if the signature does not tell.
  std::vector<int64_t> sharedMemory(const Signature& signature) const;
  /// Whether no two tensors are one, and those that require gradients are leaves without hooks. False if the signature
  /// does not tell.
  bool hasPlainLeaves(const Signature& signature) const { return interest_.tape && signature.back() != 0; }

 private:
  std::vector<c10::TypePtr> arguments_;
  std::vector<AttributePath> attributes_;
  SignatureInterest interest_;
};

/// Whether values of this type have words of their own in signatures.
bool isSpecialized(const c10::Type& type);
/// How many words an argument of this type has.
size_t numWords(const c10::Type& type);
/// How many an attribute has.
size_t numWordsOfAttribute(const c10::Type& type);

}  // namespace cresset
