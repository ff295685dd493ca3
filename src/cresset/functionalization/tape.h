// Where the tensors of live programs are on autograd's tape.
//
// A wrapper of a tensor from outside joins that tensor's tape by a node of its own; a tensor that stands for a wrapper
// after the level is closed has the wrapper's place itself, so that gradients by the one are gradients by the other.
#pragma once

#include <ATen/core/Tensor.h>

namespace cresset::live {

/// Whether autograd records what the thread calls: not what a level emits, say.
bool isRecording();

/// Puts the wrapper on the tape after the tensor from outside for which it stands, which requires gradients. The node
/// between hands gradients on as tensors with memory, which `plain` makes of those of wrappers.
void enterTape(const at::Tensor& outside, const at::Tensor& wrapper, at::Tensor (*plain)(const at::Tensor&));
/// Whether the wrapper is where enterTape has put it.
bool isEntered(const at::Tensor& wrapper);
/// Takes back what enterTape has done to a tensor that had no place before.
void leaveTape(const at::Tensor& tensor);

/// Gives `to` the place on the tape of `from`, which requires gradients; gradients that one of the two retains, `to`
/// retains. That of a leaf is where its gradient is accumulated. Nothing happens if autograd can't make `from` again.
void sharePlace(const at::Tensor& from, const at::Tensor& to);

/// Makes what has just been recorded as a write to the wrapper, which is no view, one to `view`, the tensor from
/// outside for which it stands and which is a view in autograd: its base gets a place after the write. False, and
/// nothing happens, if autograd can't write to the view, or the write has several results.
bool recordWrite(const at::Tensor& view, const at::Tensor& wrapper);

/// Whether autograd knows where the tensor is on the tape. Not of a view that it can't make again after a write to its
/// base, which raises where it is recorded.
bool hasKnownPlace(const at::Tensor& tensor);

/// Whether autograd knows the tensor as a view that was made where no gradients are recorded, or of such a one: it
/// can't be written where they are.
bool wasMadeWithoutTape(const at::Tensor& view);
/// Makes a view such a one.
void markMadeWithoutTape(const at::Tensor& view);

/// Raises what autograd does where an in-place operator writes to the tensor and is recorded.
void checkInPlace(const at::Tensor& tensor);

/// Lets autograd make the place of a view on the tape again from that of its base.
void forgetPlace(const at::Tensor& view);

/// Makes `tensor`, which is a view in autograd, a view of what `view` is a view of. It keeps its place on the tape, its
/// gradients and hooks; autograd raises still where it can't make the tensor again after a write to its base. Nothing
/// happens if `view` is none.
void rebaseView(const at::Tensor& tensor, const at::Tensor& view);

/// The tensor's tangent of forward-mode autograd; undefined if it has none.
at::Tensor tangentOf(const at::Tensor& tensor);
/// `replaces`: the tensor may have a tangent, as after a write.
void setTangent(const at::Tensor& tensor, const at::Tensor& tangent, bool replaces);

}  // namespace cresset::live
