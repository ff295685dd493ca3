// Functions that derivative rules share: of recurrent layers, normalizations and convolutions. See formulas.h.
#include "cresset/autodiff/formulas.h"

namespace cresset::formulas {

const std::string_view kLayers = R"(
# Layers
def instances(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
  n, c = input.size(0), input.size(1)
  sizes = [1, n * c]
  for d in range(2, input.dim()):
    sizes.append(input.size(d))
  w = weight.repeat([n]) if weight is not None else None
  b = bias.repeat([n]) if bias is not None else None
  flat = input.contiguous().view(sizes)
  return torch._batch_norm_impl_index(flat, w, b, None, None, True, momentum, eps, cudnn_enabled)[0].view(input.size())

# One step of a recurrent layer.
def check_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor):
  if input.size(1) != w_ih.size(1):
    raise RuntimeError("input has inconsistent input_size: got " + str(input.size(1)) + " expected " + str(w_ih.size(1)))
  check_hidden(input, hidden, w_hh, "hidden0")

def check_hidden(input: Tensor, hidden: Tensor, w_hh: Tensor, name: str):
  if input.size(0) != hidden.size(0):
    raise RuntimeError("Input batch size " + str(input.size(0)) + " doesn't match " + name + " batch size " + str(hidden.size(0)))
  if hidden.size(1) != w_hh.size(1):
    raise RuntimeError(name + " has inconsistent hidden_size: got " + str(hidden.size(1)) + ", expected " + str(w_hh.size(1)))

def simple_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
  check_cell(input, hx, w_ih, w_hh)
  hidden = torch.linear(hx, w_hh, b_hh)
  return hidden + torch.linear(input, w_ih, b_ih)

# Both sigmoids are parts of one tensor, and laid out so, as PyTorch's kernel has them.
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
  check_cell(input, hx, w_ih, w_hh)
  n = w_hh.size(0) // 3
  i, i_new = torch.unsafe_split_with_sizes(torch.linear(input, w_ih, b_ih), [2 * n, n], 1)
  h, h_new = torch.unsafe_split_with_sizes(torch.linear(hx, w_hh, b_hh), [2 * n, n], 1)
  reset, update = torch.unsafe_chunk(h + i, 2, 1)
  new = torch.tanh(i_new + h_new * torch.sigmoid(reset))
  return (hx - new) * torch.sigmoid(update) + new

# The same by views that depend on no size. PyTorch computes the gates in place, so their elements don't follow each other.
def gru_step(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
  check_cell(input, hx, w_ih, w_hh)
  i = torch.linear(input, w_ih, b_ih)
  h = torch.linear(hx, w_hh, b_hh)
  reset, update, _ = (h + i).chunk(3, 1)
  new = torch.tanh(i.chunk(3, 1)[2] + h.chunk(3, 1)[2] * torch.sigmoid(reset))
  return (hx - new) * torch.sigmoid(update) + new

# The memory format that PyTorch suggests for a tensor: 2 and 3 are those with the channels last.
def laid_out_as(x: Tensor, like: Tensor) -> Tensor:
  if like.dim() == 4:
    return x.contiguous(memory_format=2 * int(torch.is_strides_like_format(like, 2)))
  if like.dim() == 5:
    return x.contiguous(memory_format=3 * int(torch.is_strides_like_format(like, 3)))
  return x.contiguous()

def groups_normalized(input: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tensor:
  n = 1
  for d in range(2, input.dim()):
    n *= input.size(d)
  w = weight.contiguous() if weight is not None else None
  b = bias.contiguous() if bias is not None else None
  return torch.native_group_norm(laid_out_as(input, input), w, b, input.size(0), input.size(1), n, groups, eps)[0]

# For kernels.
def fit_groups(x: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor]) -> bool:
  fits = groups > 0 and x.size(1) % groups == 0
  if weight is not None:
    fits = fits and weight.size(0) == x.size(1)
  if bias is not None:
    fits = fits and bias.size(0) == x.size(1)
  return fits

# Each group of channels lies in one row.
def groups_of_rows(x: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tensor:
  if not (x.is_contiguous() and fit_groups(x, groups, weight, bias)):
    return torch.group_norm(x, groups, weight, bias, eps)
  rows = x.unflatten(1, [groups, -1])
  d = rows - rows.mean([-1], True)
  y = d * ((d * d).mean([-1], True) + eps).rsqrt()
  if weight is not None:
    y = y * weight.unflatten(0, [groups, -1])
  if bias is not None:
    y = y + bias.unflatten(0, [groups, -1])
  return y.flatten(1)

# Of images: by what each channel is multiplied, and what is added.
def group_scales(x: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tuple[Tensor, Tensor]:
  rows = x.unflatten(1, [groups, -1]).flatten(2)
  m = rows.mean([-1], True)
  d = rows - m
  r = ((d * d).mean([-1], True) + eps).rsqrt()
  factors = r * weight.unflatten(0, [groups, -1]) if weight is not None else r.expand([-1, -1, x.size(1) // groups])
  shifts = bias.unflatten(0, [groups, -1]) - m * factors if bias is not None else -m * factors
  return along_channels(factors.flatten(1), x), along_channels(shifts.flatten(1), x)

# Where a kernel takes the result, it scales it. Images that lie otherwise are PyTorch's, multiplied by 1.
def groups_scaled(x: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tensor:
  if x.is_contiguous() and fit_groups(x, groups, weight, bias):
    image, factors = x, group_scales(x, groups, weight, bias, eps)
  else:
    one, zero = torch.ones([1, 1], dtype=x.dtype, device=x.device), torch.zeros([1, 1], dtype=x.dtype, device=x.device)
    image, factors = torch.group_norm(x, groups, weight, bias, eps), (along_channels(one, x), along_channels(zero, x))
  return image * factors[0] + factors[1]

# Else images that fit into a cache.
def groups_of_few(x: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tensor:
  if x.is_contiguous() and x.numel() <= 1048576 and fit_groups(x, groups, weight, bias):
    factors, shifts = group_scales(x, groups, weight, bias, eps)
    return x * factors + shifts
  return torch.group_norm(x, groups, weight, bias, eps)

# What is normalized is `normal`, (x - mean) * r, over some dimensions; or, if `fixed`, by a mean and a deviation that are
# given. Its derivative with respect to x, times a gradient; the derivative is symmetric.
def through_normal(grad: Tensor, normal: Tensor, r: Tensor, dims: List[int], fixed: bool) -> Tensor:
  if fixed:
    return r * grad
  return r * (grad - grad.mean(dims, True) - normal * (grad * normal).mean(dims, True))

def weighted(x: Tensor, weight: Optional[Tensor]) -> Tensor:
  if weight is not None:
    return x * weight
  return x

# Second derivatives of normalizations. Of the first ones there are those that `mask` tells, of the input, the weight and
# the bias; their gradients are g0, g1 and g2. Means and deviations that the first kernel saved are taken for constants
# where this is differentiated itself, as autograd does.
def normal_second(g0: Tensor, g1: Tensor, grad: Tensor, normal: Tensor, r: Tensor, weight: Optional[Tensor], dims: List[int], fixed: bool, mask: List[bool]) -> Tensor:
  of_normal = grad * g1 if mask[1] else None
  if mask[0] and not fixed:
    g = weighted(grad, weight)
    p, q = (g0 * normal).mean(dims, True), (g * normal).mean(dims, True)
    of_both = -r * (g0 * q + g * p)
    if of_normal is not None:
      of_both = of_normal + of_both
    rest = (g0 * g).mean(dims, True) - g0.mean(dims, True) * g.mean(dims, True) - p * q
    return through_normal(of_both, normal, r, dims, False) - r * r * normal * rest
  if of_normal is not None:
    return through_normal(of_normal, normal, r, dims, fixed)
  return torch.zeros_like(grad)

def normal_second_of_grad(g0: Tensor, g1: Tensor, g2: Tensor, grad: Tensor, normal: Tensor, r: Tensor, weight: Optional[Tensor], dims: List[int], fixed: bool, mask: List[bool]) -> Tensor:
  if mask[0]:
    result = weighted(through_normal(g0, normal, r, dims, fixed), weight)
    if mask[1]:
      result = result + g1 * normal
    return result + g2 if mask[2] else result
  if mask[1]:
    result = g1 * normal
    return result + g2 if mask[2] else result
  return g2.expand(grad.size()) if mask[2] else torch.zeros_like(grad)

def normal_second_of_weight(g0: Tensor, grad: Tensor, normal: Tensor, r: Tensor, like: Tensor, dims: List[int], fixed: bool, mask: List[bool]) -> Tensor:
  if mask[0]:
    return reduced(grad * through_normal(g0, normal, r, dims, fixed), like)
  return torch.zeros_like(like)

# The last dimensions, as many as there are sizes.
def last(sizes: List[int]) -> List[int]:
  dims: List[int] = []
  for d in range(len(sizes)):
    dims.append(d - len(sizes))
  return dims

# Of a layer norm's input, weight and bias.
def layer_norm_gradients(grad: Tensor, x: Tensor, sizes: List[int], mean: Tensor, r: Tensor, weight: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  dims = last(sizes)
  outer: List[int] = []
  for d in range(x.dim() - len(sizes)):
    outer.append(d)
  given = grad.contiguous()
  normal, weighted = (x.contiguous() - mean) * r, given * weight
  of_x = r * (weighted - torch.mean(weighted, dims, True) - normal * torch.mean(weighted * normal, dims, True))
  return of_x, torch.sum(given * normal, outer), torch.sum(given, outer)

# Of the first gradient's arguments: the gradient that came in, the input and the weight.
def layer_second(g0: Tensor, g1: Tensor, g2: Tensor, grad: Tensor, x: Tensor, sizes: List[int], mean: Tensor, r: Tensor, weight: Optional[Tensor], mask: List[bool], wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
  normal, dims = (x - mean) * r, last(sizes)
  of_grad = normal_second_of_grad(g0, g1, g2, grad, normal, r, weight, dims, False, mask) if wanted[0] else None
  of_x = normal_second(g0, g1, grad, normal, r, weight, dims, False, mask) if wanted[1] else None
  of_weight = normal_second_of_weight(g0, grad, normal, r, torch._unwrap_optional(weight), dims, False, mask) if wanted[2] else None
  return of_grad, of_x, of_weight

def all_but_channels(x: Tensor) -> List[int]:
  dims = [0]
  for d in range(2, x.dim()):
    dims.append(d)
  return dims

# Without elements PyTorch's batch norm takes any number of weights, and its gradient is undefined.
def batch_index_gradients(impl: int, x: Tensor, grad: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], mean: Optional[Tensor], rstd: Optional[Tensor], train: bool, eps: float, wanted: List[bool], reserved: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  if x.numel() == 0:
    none = torch.zeros_like(weight) if weight is not None else x
    return torch.zeros_like(x), none, none
  return torch._batch_norm_impl_index_backward(impl, x, grad, weight, running_mean, running_var, mean, rstd, train, eps, wanted, reserved)

def along_channels(values: Tensor, x: Tensor) -> Tensor:
  for d in range(2, x.dim()):
    values = values.unsqueeze(-1)
  return values

def of_images(x: Tensor) -> Tensor:
  for d in range(2, x.dim()):
    x = x.select(-1, 0)
  return x

def image_dims(x: Tensor) -> List[int]:
  dims: List[int] = []
  for d in range(2, x.dim()):
    dims.append(d)
  return dims

# Batch norm in training, for kernels: of each image, then of these. Images of fewer elements than a reduction has lanes,
# and those with the channels last, have their statistics from PyTorch's kernel. Means, and variances; what rounding the
# mean of an image leaves of it counts where the mean is large.
def batch_statistics(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float) -> Tuple[Tensor, Tensor]:
  if torch.ops.cresset.image_size(x, None, weight, bias, running_mean, running_var) < 32:
    return torch.ops.cresset.batch_statistics(x, weight, bias, running_mean, running_var, momentum)
  dims = image_dims(x)
  m = x.mean(dims, True)
  d = x - m
  squares, rests, means = of_images((d * d).mean(dims, True)), of_images(d.mean(dims, True)), of_images(m)
  mean = (means + rests).mean([0])
  e = means - mean
  var = (squares + e * (e + 2 * rests)).mean([0])
  if running_mean is not None or running_var is not None:
    torch.ops.cresset.update_statistics(mean, var, running_mean, running_var, momentum, x.numel() // x.size(1))
  return mean, var

def batch_normalized(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
  mean, var = batch_statistics(x, weight, bias, running_mean, running_var, momentum)
  return torch.batch_norm(x, weight, bias, mean, var, False, momentum, eps, False), mean, (var + eps).rsqrt()

def batch_index_normalized(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, int]:
  y, mean, r = batch_normalized(x, weight, bias, running_mean, running_var, momentum, eps)
  return y, mean, r, torch.empty([0], dtype=torch.uint8), 0

# The sums are of the negative gradient, so that one kernel computes both.
def batch_gradients_by_images(impl: int, x: Tensor, grad: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], mean: Optional[Tensor], rstd: Optional[Tensor], train: bool, eps: float, wanted: List[bool], reserved: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  if torch.ops.cresset.image_size(x, grad, weight, None, mean, rstd) < 64:
    return torch._batch_norm_impl_index_backward(impl, x, grad, weight, running_mean, running_var, mean, rstd, train, eps, wanted, reserved)
  n = x.numel() // x.size(1)
  m, r, dims, negative = along_channels(torch._unwrap_optional(mean), x), torch._unwrap_optional(rstd), image_dims(x), -grad
  totals = negative.sum(dims)
  products = (negative * (m - x)).sum(dims)
  total, product = totals.sum([0]), products.sum([0])
  shift, slope, factor = total / n, r * r * product / n, r * weight if weight is not None else r
  of_x = (grad + along_channels(shift, x) - (x - m) * along_channels(slope, x)) * along_channels(factor, x)
  return of_x, product * r, -total

# What a batch norm gave without its weight and bias, and by what it divided.
def batch_normal(x: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], mean: Optional[Tensor], r: Optional[Tensor], train: bool, eps: float) -> Tuple[Tensor, Tensor]:
  if train:
    m, d = slopes(torch._unwrap_optional(mean), x), slopes(torch._unwrap_optional(r), x)
  else:
    m, d = slopes(torch._unwrap_optional(running_mean), x), slopes((torch._unwrap_optional(running_var) + eps).rsqrt(), x)
  return (x - m) * d, d

def batch_second(g0: Tensor, g1: Tensor, g2: Tensor, grad: Tensor, x: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], mean: Optional[Tensor], rstd: Optional[Tensor], train: bool, eps: float, mask: List[bool], wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
  normal, r = batch_normal(x, running_mean, running_var, mean, rstd, train, eps)
  dims = all_but_channels(x)
  w = slopes(weight, x) if weight is not None else None
  of_grad = normal_second_of_grad(g0, slopes(g1, x), slopes(g2, x), grad, normal, r, w, dims, not train, mask) if wanted[0] else None
  of_x = normal_second(g0, slopes(g1, x), grad, normal, r, w, dims, not train, mask) if wanted[1] else None
  if wanted[2]:
    like = torch._unwrap_optional(weight)
    return of_grad, of_x, normal_second_of_weight(g0, grad, normal, r, slopes(like, x), dims, not train, mask).reshape(like.size())
  return of_grad, of_x, None

# The kernel has no derivative, so gradients that are differentiated again are composed.
def group_statistics(x: Tensor, n: int, groups: int, eps: float) -> Tuple[Tensor, Tensor]:
  flat = wide(x).reshape([n, groups, x.numel() // max(n * groups, 1)])
  r = (flat.var(-1, False, True) + eps).rsqrt()
  return r, (flat - flat.mean(-1, True)) * r

def group_gradients(grad: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Optional[Tensor], n: int, c: int, size: int, groups: int, eps: float, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
  if not torch.is_grad_enabled():
    return torch.native_group_norm_backward(laid_out_as(grad, x), x, mean, rstd, weight, n, c, size, groups, wanted)
  r, normal = group_statistics(x, n, groups, eps)
  of_x: Optional[Tensor] = None
  if wanted[0]:
    g = wide(grad).reshape([n, c, size])
    if weight is not None:
      g = g * weight.reshape([c, 1])
    g = g.reshape(normal.size())
    of_x = narrowed((r * (g - g.mean(-1, True) - normal * (g * normal).mean(-1, True))).reshape(x.size()), x)
  of_weight = narrowed((grad.reshape([n, c, size]) * normal.reshape([n, c, size])).sum([0, 2]), x) if wanted[1] else None
  return of_x, of_weight, grad.reshape([n, c, size]).sum([0, 2]) if wanted[2] else None

def rms_normalized(x: Tensor, sizes: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
  input = wide(x.contiguous())
  if eps is not None:
    e = eps
  else:
    e = 2.220446049250313e-16 if input.dtype == torch.float64 else 1.1920928955078125e-07
  dims = torch.ops.cresset.normalized_dims(x, sizes, weight)
  result = input.mul(torch.rsqrt(torch.pow(input, 2).mean(dims, True).add(e)))
  if weight is not None:
    result = result.mul(weight)
  return result.to(x.dtype)

# The fused kernel's own gradient, where it ran.
def attention_gradients(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], causal: bool, scale: Optional[float], grouped: bool, result: Tensor, sums: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  if sums.numel() != 0:
    added = mask
    if mask is not None:
      if mask.dtype == torch.bool:
        added = torch.zeros_like(mask, dtype=query.dtype).masked_fill(mask.logical_not(), -float("inf"))
    return torch._scaled_dot_product_flash_attention_for_cpu_backward(grad, query, key, value, result, sums, 0.0, causal, attn_mask=added, scale=scale)
  factor = float("inf")
  if scale is not None:
    factor = scale
  elif query.size(-1) > 0:
    factor = 1.0 / float(query.size(-1)) ** 0.5
  group = query.size(-3) // key.size(-3) if grouped else 1
  k, v = key, value
  if group != 1:
    k, v = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
  scores = torch.matmul(query, k.mT) * factor
  if causal:
    seen = torch.ones([query.size(-2), key.size(-2)], dtype=torch.bool).tril()
    scores = scores.masked_fill(seen.logical_not(), -float("inf"))
  if mask is not None:
    if mask.dtype == torch.bool:
      scores = scores.masked_fill(mask.logical_not(), -float("inf"))
    else:
      scores = scores + mask
  weights = torch.softmax(scores, -1).nan_to_num(0.0)
  of_weights = torch.matmul(grad, v.mT)
  of_scores = weights * (of_weights - (of_weights * weights).sum(-1, True)) * factor
  of_query, of_key, of_value = torch.matmul(of_scores, k), torch.matmul(of_scores.mT, query), torch.matmul(weights.mT, grad)
  if group != 1:
    of_key, of_value = of_key.unflatten(-3, [-1, group]).sum(-3), of_value.unflatten(-3, [-1, group]).sum(-3)
  return reduced(of_query, query), reduced(of_key, key), reduced(of_value, value)

# Gradients of the input, the weight and the bias, which kernels compute together.
def conv_gradients(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, with_bias: bool, wanted: List[bool]) -> Tuple[Tensor, Tensor, Tensor]:
  batched = input.dim() == weight.dim()
  if not batched:
    grad = grad.unsqueeze(0)
    input = input.unsqueeze(0)
  x, w, b = torch.convolution_backward(grad, input, weight, [grad.size(1)] if with_bias else None, stride, padding, dilation, transposed, output_padding, groups, wanted)
  return x if batched or not wanted[0] else x.squeeze(0), w, b

# Of the first gradient's arguments: the gradient that came in, the input and the weight.
def conv_second(g0: Tensor, g1: Tensor, g2: Tensor, grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, mask: List[bool], wanted: List[bool]) -> Tuple[Tensor, Tensor, Tensor]:
  of_grad, of_input, of_weight = torch._convolution_double_backward(g0 if mask[0] else None, g1 if mask[1] else None, g2 if mask[2] else None, grad, weight, input, stride, padding, dilation, transposed, output_padding, groups, wanted)
  return of_grad, of_input if mask[1] else torch.zeros_like(input), of_weight if mask[0] else torch.zeros_like(weight)

# The same, where the result has the input's sizes or nothing is padded. Where the two sides differ the input is padded
# before.
def sides(weight: Tensor, dilation: List[int], padding: str) -> Tuple[List[int], List[int]]:
  both: List[int] = []
  after: List[int] = []
  for d in range(2, weight.dim()):
    total = 0 if padding == "valid" else dilation[min(d - 2, len(dilation) - 1)] * (weight.size(d) - 1)
    both.append(total // 2)
    after = [0, total % 2] + after
  return both, after

def conv_named_gradients(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: str, dilation: List[int], groups: int, with_bias: bool, wanted: List[bool]) -> Tuple[Tensor, Tensor, Tensor]:
  both, after = sides(weight, dilation, padding)
  if sum(after) == 0:
    return conv_gradients(grad, input, weight, stride, both, dilation, False, [0], groups, with_bias, wanted)
  x, w, b = conv_gradients(grad, torch.constant_pad_nd(input, after, 0), weight, stride, both, dilation, False, [0], groups, with_bias, wanted)
  return torch.constant_pad_nd(x, negated(after), 0) if wanted[0] else x, w, b

def adaptive_gradient(grad: Tensor, x: Tensor, output_size: List[int]) -> Tensor:
  if output_size[0] == 1:
    return grad.expand(x.size()) / x.size(-1)
  return torch._adaptive_avg_pool2d_backward(grad.unsqueeze(-2), x.unsqueeze(-2)).squeeze(-2)

def pooled_at(grad: Tensor, indices: Tensor, rank: int) -> Tensor:
  return grad.flatten(-rank).gather(-1, indices.flatten(-rank)).view(indices.size())

def scale(factors: Optional[List[float]], i: int) -> Optional[float]:
  if factors is None:
    return None
  return factors[i]
)";

}  // namespace cresset::formulas
