// Functions that derivative rules share: of views, indices and joined tensors, and of equations of indices (einsum).
// See formulas.h.
#include "cresset/autodiff/formulas.h"

namespace cresset::formulas {

const std::string_view kShapes = R"(
# Shapes and indices
def inverse(dims: List[int]) -> List[int]:
  rank = len(dims)
  result = [0] * rank
  for i in range(rank):
    d = dims[i]
    result[d + rank if d < 0 else d] = i
  return result

# The sizes of the parts that were joined, which have one rank.
def lengths(tensors: List[Tensor], dim: int) -> List[int]:
  result: List[int] = []
  for x in tensors:
    result.append(x.size(dim))
  return result

# All of a tensor is the tensor itself.
def slice_gradient(grad: Tensor, sizes: List[int], dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
  if start is None and end is None and step == 1:
    return grad
  return torch.slice_backward(grad, sizes, dim, 0 if start is None else start, 9223372036854775807 if end is None else end, step)

def broadcast_gradients(grads: List[Tensor], tensors: List[Tensor]) -> List[Tensor]:
  result: List[Tensor] = []
  for i in range(len(tensors)):
    result.append(reduced(grads[i], tensors[i]))
  return result

def repeat_gradient(grad: Tensor, sizes: List[int], repeats: List[int]) -> Tensor:
  for n in repeats:
    if n == 0:
      return grad.new_zeros(sizes)
  more = len(repeats) - len(sizes)
  for d in range(more):
    grad = grad.sum(0)
  split: List[int] = []
  summed: List[int] = []
  for d in range(len(sizes)):
    if repeats[more + d] != 1:
      summed.append(len(split))
      split.append(repeats[more + d])
    split.append(sizes[d])
  if len(summed) > 0:
    grad = grad.reshape(split).sum(summed)
  return grad

def tiled(x: Tensor, dims: List[int]) -> Tensor:
  repeats: List[int] = []
  for d in range(x.dim() - len(dims)):
    repeats.append(1)
  return x.repeat(repeats + dims)

def interleave_gradient(grad: Tensor, sizes: List[int], repeats: int, dim: Optional[int]) -> Tensor:
  if dim is None:
    return grad.reshape([-1, repeats]).sum(1).reshape(sizes) if repeats != 0 else grad.new_zeros(sizes)
  d = dim + len(sizes) if dim < 0 else dim
  return grad.reshape(sizes[:d + 1] + [repeats] + sizes[d + 1:]).sum(d + 1)

def interleave_gradient_of(grad: Tensor, sizes: List[int], repeats: Tensor, dim: Optional[int]) -> Tensor:
  if dim is None:
    n = 1
    for size in sizes:
      n *= size
    return torch.index_select_backward(grad, [n], 0, torch.repeat_interleave(repeats.expand([n]) if repeats.numel() == 1 else repeats)).reshape(sizes)
  n = sizes[dim]
  return torch.index_select_backward(grad, sizes, dim, torch.repeat_interleave(repeats.expand([n]) if repeats.numel() == 1 else repeats))

def pad_gradient(grad: Tensor, x: Tensor, pad: List[int], mode: str) -> Tensor:
  if mode == "constant":
    return torch.constant_pad_nd(grad, negated(pad), 0)
  n = len(pad) // 2
  if mode == "reflect":
    if n == 1:
      return torch.reflection_pad1d_backward(grad, x, pad)
    if n == 2:
      return torch.reflection_pad2d_backward(grad, x, pad)
    return torch.reflection_pad3d_backward(grad, x, pad)
  if n == 1:
    return torch.replication_pad1d_backward(grad, x, pad)
  if n == 2:
    return torch.replication_pad2d_backward(grad, x, pad)
  return torch.replication_pad3d_backward(grad, x, pad)

# As autograd, which refuses a gradient of other sizes than the tensor's: the index may be shorter than what is scattered.
def gathered(grad: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
  if index.size() != src.size():
    raise RuntimeError("an invalid gradient at index 1 - got " + str(index.size()) + " but expected shape compatible with " + str(src.size()))
  return grad.gather(dim, index)

def scatter_reduce_gradients(grad: Tensor, x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
  if reduce == "sum":
    of_x, of_src = grad, gathered(grad, dim, index, src)
  elif reduce == "mean":
    n = torch.ones_like(grad) if include_self else torch.zeros_like(grad)
    n = n.scatter_add(dim, index, torch.ones_like(src))
    of_x = grad / n.masked_fill(n == 0, 1)
    of_src = gathered(of_x, dim, index, src)
  else:
    value = result.gather(dim, index)
    same, chosen = (x == result).to(x.dtype), (src == value).to(x.dtype)
    share = grad / torch.scatter_add(same, dim, index, chosen)
    of_x, of_src = same * share, chosen * share.gather(dim, index)
  if not include_self:
    of_x = of_x.scatter(dim, index, 0)
  return of_x, of_src

def embedding_second(grad: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
  result = grad.index_select(0, indices.reshape([-1]))
  if padding_idx >= 0:
    result = result.masked_fill((indices == padding_idx).reshape([-1, 1]), 0)
  return result.view(indices.size() + [-1])

# An equation of one or two operands, each letter once in each. It is known, and so is all that is computed of texts and
# numbers; lists would be read again in each call.
def letters_of(equation: str, operand: int) -> str:
  left = equation[:equation.find("->")]
  comma = left.find(",")
  if comma < 0:
    return left
  return left[:comma] if operand == 0 else left[comma + 1:]

# The product of two operands of which no letter is summed over.
def product_of_letters(equation: str, tensors: List[Tensor]) -> Tensor:
  text = equation.replace(" ", "")
  out = text[text.find("->") + 2:]
  return torch.mul(in_order(tensors[0], letters_of(text, 0), out), in_order(tensors[1], letters_of(text, 1), out))

def in_order(x: Tensor, have: str, want: str) -> Tensor:
  order: List[int] = []
  added = len(have)
  for k in range(len(want)):
    place = have.find(want[k])
    if place < 0:
      x = x.unsqueeze(-1)
      place = added
      added += 1
    order.append(place)
  return x.permute(order)

def einsum_gradients(grad: Tensor, equation: str, tensors: List[Tensor]) -> List[Tensor]:
  text = equation.replace(" ", "")
  out = text[text.find("->") + 2:]
  result: List[Tensor] = []
  for i in range(len(tensors)):
    own = letters_of(text, i)
    if len(tensors) == 1:
      result.append(spread_letters(grad, out, own, tensors[i]))
    else:
      other = letters_of(text, 1 - i)
      known = torch.ops.cresset.letters_in(own, out + other)
      product = torch.einsum(out + "," + other + "->" + known, [grad, tensors[1 - i]])
      result.append(reduced(product, tensors[i]) if known == own else spread_letters(product, known, own, tensors[i]))
  return result

# A tensor with dimensions of some of the letters gets all of them, in their order.
def spread_letters(x: Tensor, have: str, want: str, like: Tensor) -> Tensor:
  order: List[int] = []
  sizes: List[int] = []
  for k in range(len(want)):
    letter = want[k]
    place = have.find(letter)
    if place >= 0:
      order.append(place)
      sizes.append(x.size(place))
    else:
      sizes.append(1)
  if len(order) == len(want):
    return reduced(x.permute(order), like)
  return reduced(x.permute(order).reshape(sizes).expand(like.size()) if like.numel() != 0 else x.permute(order).reshape(sizes), like)
)";

}  // namespace cresset::formulas
