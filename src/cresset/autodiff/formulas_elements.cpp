// Functions that derivative rules share: what rules of all kinds share, of reductions and of elements. See formulas.h.
#include "cresset/autodiff/formulas.h"

namespace cresset::formulas {

const std::string_view kElements = R"(
def reduced(grad: Tensor, like: Tensor) -> Tensor:
  return torch._grad_sum_to_size(grad, like.size())

def times(grad: Tensor, factor: number) -> Tensor:
  return grad if factor == 1 else grad * factor

# Kernels for numbers of 16 bits compute with 32 where they are composed of others.
def wide(x: Tensor) -> Tensor:
  if x.dtype == torch.bfloat16 or x.dtype == torch.float16:
    return x.to(torch.float32)
  return x

def narrowed(x: Tensor, like: Tensor) -> Tensor:
  if like.dtype == torch.bfloat16 or like.dtype == torch.float16:
    return x.to(like.dtype)
  return x

def negated(numbers: List[int]) -> List[int]:
  result: List[int] = []
  for n in numbers:
    result.append(-n)
  return result
)"
                                   R"(
# Reductions: what has fewer dimensions than `like` gets them back, of size 1.
def spread(x: Tensor, like: Tensor, dims: Optional[List[int]], keepdim: bool) -> Tensor:
  rank = like.dim()
  if not keepdim and rank != 0 and dims is not None:
    gone: List[bool] = []
    for d in range(rank):
      gone.append(False)
    for d in dims:
      gone[d] = True
    for d in range(rank):
      if gone[d]:
        x = x.unsqueeze(d)
  return x

def unreduced(grad: Tensor, like: Tensor, dims: Optional[List[int]], keepdim: bool) -> Tensor:
  return spread(grad, like, dims, keepdim).expand(like.size())

def count(like: Tensor, dims: Optional[List[int]]) -> int:
  if dims is None or len(dims) == 0 or like.dim() == 0:
    return like.numel()
  size = 1
  for d in dims:
    size *= like.size(d)
  return size

def var_gradient(grad: Tensor, x: Tensor, dims: Optional[List[int]], correction: number, keepdim: bool) -> Tensor:
  if x.dim() == 0 or dims is None:
    freedom = x.numel() - float(correction)
    if freedom <= 0:
      return grad * torch.where(x == x.mean(), float("nan"), float("inf"))
    return (2.0 / freedom) * grad * (x - x.mean())
  return (2.0 / (count(x, dims) - float(correction))) * spread(grad, x, dims, keepdim) * (x - x.mean(dims, True))

# Of the number whose root the result is.
def gradient_of_square(grad: Tensor, result: Tensor) -> Tensor:
  return (grad / (result * 2)).masked_fill(result == 0, 0)

def std_gradient(grad: Tensor, result: Tensor, x: Tensor, dims: Optional[List[int]], correction: number, keepdim: bool) -> Tensor:
  return var_gradient(gradient_of_square(grad, result), x, dims, correction, keepdim)

def var_mean_gradient(of_var: Tensor, of_mean: Tensor, x: Tensor, dims: Optional[List[int]], correction: number, keepdim: bool, given: List[bool]) -> Tensor:
  if not given[0]:
    return unreduced(of_mean, x, dims, keepdim) / count(x, dims)
  grad = var_gradient(of_var, x, dims, correction, keepdim)
  if not given[1]:
    return grad
  return grad + unreduced(of_mean, x, dims, keepdim) / count(x, dims)

def std_mean_gradient(of_std: Tensor, of_mean: Tensor, result: Tensor, x: Tensor, dims: Optional[List[int]], correction: number, keepdim: bool, given: List[bool]) -> Tensor:
  of_var = gradient_of_square(of_std, result) if given[0] else of_std
  return var_mean_gradient(of_var, of_mean, x, dims, correction, keepdim, given)

# The elements that are the extreme value share its gradient.
def evenly(grad: Tensor, x: Tensor, result: Tensor) -> Tensor:
  mask = torch.where(result.isnan(), x.isnan(), x == result)
  return grad.new_zeros(x.size()).masked_fill(mask, grad / mask.sum())

def extremes(grad: Tensor, x: Tensor, result: Tensor, dims: List[int], keepdim: bool) -> Tensor:
  mask = spread(result, x, dims, keepdim) == x
  return spread(grad, x, dims, keepdim) * mask / mask.sum(dims, True)

def selected(grad: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
  if grad.dim() == 0:
    return grad
  if keepdim:
    return grad.gather(dim, indices)
  return grad.gather(dim, indices.unsqueeze(dim)).squeeze(dim)

def reversed_cumsum(x: Tensor, dim: int) -> Tensor:
  return x.flip(dim).cumsum(dim).flip(dim)

def cumsum_gradient(grad: Tensor, dim: int) -> Tensor:
  if grad.numel() <= 1 or grad.size(dim) == 1:
    return grad
  return reversed_cumsum(grad, dim)

def cumprod_gradient(grad: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
  if x.numel() <= 1:
    return grad
  w = result * grad
  zero = x == 0
  if not bool(zero.any()):
    return reversed_cumsum(w, dim).div(x)
  # With zeros: each element's gradient is a sum of products that leave it out.
  rank = x.dim()
  dim = dim + rank if dim < 0 else dim
  n = x.size(dim)
  a = x.movedim(dim, -1)
  g = grad.movedim(dim, -1)
  rows = a.unsqueeze(-2).expand(a.size() + [n]).clone()
  rows = rows.masked_fill(torch.eye(n, dtype=torch.bool), 1.0)
  products = rows.cumprod(-1) * g.unsqueeze(-2)
  kept = torch.ones([n, n], dtype=torch.bool).triu()
  return products.masked_fill(kept.logical_not(), 0.0).sum(-1).movedim(-1, dim)

def lowest(x: Tensor) -> float:
  if x.dtype == torch.float64:
    return -1.7976931348623157e308
  if x.dtype == torch.float16:
    return -65504.0
  return -3.3895313892515355e38 if x.dtype == torch.bfloat16 else -3.4028234663852886e38

def logcumsumexp_gradient(grad: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
  if grad.dim() == 0 or x.numel() == 0:
    return grad
  low = lowest(grad)
  positive = torch.where(grad > 0, grad.log(), low)
  negative = torch.where(grad < 0, (-grad).log(), low)
  up = (((positive - result).flip(dim).logcumsumexp(dim).flip(dim)) + x).exp()
  down = (((negative - result).flip(dim).logcumsumexp(dim).flip(dim)) + x).exp()
  return up - down

# The product of all other elements along a dimension, times grad.
def others(grad: Tensor, x: Tensor, dim: int) -> Tensor:
  if x.numel() == 0:
    return torch.zeros_like(x)
  if x.size(dim) == 1:
    return grad
  n = x.size(dim)
  before = torch.cat([torch.ones_like(x.narrow(dim, 0, 1)), x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
  after = torch.cat([torch.ones_like(x.narrow(dim, 0, 1)), x.narrow(dim, 1, n - 1).flip(dim)], dim).cumprod(dim).flip(dim)
  return grad * (before * after)

def prod_gradient(grad: Tensor, x: Tensor, result: Tensor) -> Tensor:
  if x.dim() == 0:
    return grad.clone()
  zeros = int((x == 0).sum())
  if zeros == 0:
    return grad * (result / x)
  if zeros > 1 and not torch.is_grad_enabled():
    return torch.zeros_like(x)
  return others(grad, x.contiguous().view(-1), 0).view_as(x)

def prod_gradient_of(grad: Tensor, x: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
  if x.dim() == 0:
    return grad.clone()
  dim = dim + x.dim() if dim < 0 else dim
  grad = spread(grad, x, [dim], keepdim)
  if not bool((x == 0).any()):
    return grad * (spread(result, x, [dim], keepdim) / x)
  return others(grad, x, dim)
)"
                                   R"(
# Elements
def powers(grad: Tensor, base: number, exponent: Tensor, result: Tensor) -> Tensor:
  b = float(base)
  if b == 0:
    return grad * torch.where(exponent >= 0, 0.0, result * -float("inf"))
  return grad * (result * torch.log(torch.tensor(b, dtype=torch.float64)))

def within(grad: Tensor, x: Tensor, min: Optional[number], max: Optional[number]) -> Tensor:
  if min is not None and max is not None:
    return torch.where((x >= min).logical_and(x <= max), grad, 0.0)
  if min is not None:
    return torch.where(x >= min, grad, 0.0)
  if max is not None:
    return torch.where(x <= max, grad, 0.0)
  return grad

def within_tensors(grad: Tensor, x: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
  if min is not None and max is not None:
    return torch.where((x >= min).logical_and(x <= max), grad, 0.0)
  if min is not None:
    return torch.where(x >= min, grad, 0.0)
  if max is not None:
    return torch.where(x <= max, grad, 0.0)
  return grad

def below(grad: Tensor, x: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
  low = torch._unwrap_optional(min)
  if max is not None:
    return torch.where((low < max).logical_and(x < low), grad, 0.0)
  return torch.where(x < low, grad, 0.0)

def above(grad: Tensor, x: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
  high = torch._unwrap_optional(max)
  if min is not None:
    return torch.where((x > high).logical_or(high < min), grad, 0.0)
  return torch.where(x > high, grad, 0.0)

def angle_gradients(grad: Tensor, y: Tensor, x: Tensor) -> Tuple[Tensor, Tensor]:
  squares = y * y + x * x
  factor = torch.where(squares == 0.0, 0.0, squares.reciprocal())
  return reduced(grad * x * factor, y), reduced(grad * -y * factor, x)

def sinc_gradient(grad: Tensor, x: Tensor) -> Tensor:
  a = x * 3.141592653589793
  b = x * x * 3.141592653589793
  return torch.where(b == 0.0, 0.0, grad * ((a * a.cos() - a.sin()) / b))

def logit_gradient(grad: Tensor, x: Tensor, eps: Optional[float]) -> Tensor:
  if eps is not None:
    return torch.where(torch.logical_and(x >= eps, x <= 1.0 - eps), grad / (x * (1.0 - x)), 0.0)
  return torch.where(torch.logical_and(x >= 0.0, x <= 1.0), grad / (x * (1.0 - x)), float("nan"))

def mish_gradient(grad: Tensor, x: Tensor) -> Tensor:
  s = x.sigmoid()
  t = torch.softplus(x).tanh()
  return grad * (t + x * s * (1 - t * t))

def bessel_gradient(grad: Tensor, x: Tensor, result: Tensor, scaled: bool) -> Tensor:
  eps = 2.220446049250313e-16 if x.dtype == torch.float64 else 1.1920928955078125e-07
  apart = x.abs() > eps
  safe = torch.where(apart, x, eps)
  if scaled:
    slope = torch.special_i0e(safe) - result * (safe.sgn() + safe.reciprocal())
  else:
    slope = torch.i0(safe) - result * safe.reciprocal()
  return grad * torch.where(apart, slope, 0.5)

# PyTorch reads this number as a float of 32 bits.
def inverse_of_float(alpha: number) -> float:
  return 1.0 / float(torch.tensor(float(alpha), dtype=torch.float32))

def slopes(weight: Tensor, like: Tensor) -> Tensor:
  if weight.dim() == like.dim():
    return weight
  sizes: List[int] = []
  for d in range(like.dim()):
    sizes.append(weight.numel() if d == 1 else 1)
  return weight.reshape(sizes)

def prelu_gradients(grad: Tensor, x: Tensor, weight: Tensor) -> Tuple[Tensor, Tensor]:
  w = slopes(weight, x)
  of_x, of_w = torch._prelu_kernel_backward(grad, x, w)
  return of_x, reduced(of_w, w).reshape(weight.size())

def sigmoid_slope(grad: Tensor, x: Tensor) -> Tensor:
  s = x.sigmoid()
  return grad * (1 - s) * s

def gelu_second(grad: Tensor, x: Tensor, approximate: str) -> Tensor:
  if approximate == "tanh":
    b = 0.7978845608028654
    k = 0.044715
    t = torch.tanh(b * (x + k * x.pow(3)))
    inner = b * (1 + 3 * k * x.pow(2))
    slope = (1 - t * t) * inner
    return grad * (slope + 0.5 * x * ((1 - t * t) * (6 * b * k * x) - 2 * t * slope * inner))
  return grad * (2 - x.pow(2)) * (0.3989422804014327 * torch.exp(x.pow(2) * -0.5))

def softplus_second(grad: Tensor, x: Tensor, beta: number, threshold: number) -> Tensor:
  s = (x * beta).sigmoid()
  return torch.where(x * beta > threshold, 0.0, grad * s * (1 - s) * beta)

def elu_second(grad: Tensor, alpha: number, scale: number, input_scale: number, is_result: bool, x: Tensor) -> Tensor:
  if is_result:
    return torch.where(x < 0, grad * input_scale, 0.0)
  return torch.where(x < 0, grad * (float(alpha) * float(scale) * float(input_scale) * float(input_scale)) * (x * input_scale).exp(), 0.0)

def glu_second_of_grad(grad: Tensor, x: Tensor, dim: int) -> Tensor:
  half = x.size(dim) // 2
  a, b = x.narrow(dim, 0, half), x.narrow(dim, half, half)
  s = b.sigmoid()
  return grad.narrow(dim, 0, half) * s + grad.narrow(dim, half, half) * a * s * (1 - s)

def glu_second(grad: Tensor, grad_output: Tensor, x: Tensor, dim: int) -> Tensor:
  half = x.size(dim) // 2
  a, b = x.narrow(dim, 0, half), x.narrow(dim, half, half)
  s = b.sigmoid()
  slope = s * (1 - s) * grad_output
  first = grad.narrow(dim, half, half) * slope
  second = grad.narrow(dim, 0, half) * slope + grad.narrow(dim, half, half) * a * slope * (1 - 2 * s)
  return torch.cat([first, second], dim)
)";

}  // namespace cresset::formulas
