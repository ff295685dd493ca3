#include "cresset/autodiff/formulas.h"

namespace cresset {

// Loops over dimensions are unrolled where ranks are known, which they mostly are; what is asked of a tensor by size()
// or numel() only is kept instead of the tensor.
const std::string_view kFormulas = R"(
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

def std_gradient(grad: Tensor, result: Tensor, x: Tensor, dims: Optional[List[int]], correction: number, keepdim: bool) -> Tensor:
  return var_gradient((grad / (result * 2)).masked_fill(result == 0, 0), x, dims, correction, keepdim)

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

def logcumsumexp_gradient(grad: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
  if grad.dim() == 0 or x.numel() == 0:
    return grad
  low = -1.7976931348623157e308 if grad.dtype == torch.float64 else -3.4028234663852886e38
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
  if zeros > 1:
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
  factor = (y * y + x * x).reciprocal()
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
)"
                                   R"(
# Matrices. The gradient of a factor of a product is laid out as the factor is.
def left(grad: Tensor, right: Tensor, like: Tensor) -> Tensor:
  return torch.ops.cresset.mm(grad, right.t(), torch.ops.cresset.is_column_major(like))

def right(grad: Tensor, left: Tensor, like: Tensor) -> Tensor:
  return torch.ops.cresset.mm(left.t(), grad, torch.ops.cresset.is_column_major(like))

# How the gradient of a factor is computed if the product itself was computed transposed.
def mm_order(like: Tensor, transposed: bool) -> bool:
  return not torch.ops.cresset.is_row_major(like) if transposed else torch.ops.cresset.is_column_major(like)

def rows(x: Tensor) -> Tensor:
  if x.dim() == 2:
    return x
  if x.dim() == 1:
    return x.unsqueeze(0)
  return x.flatten(0, -2)

def linear_gradients(grad: Tensor, input: Tensor, weight: Tensor, bias: Optional[Tensor], wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
  g, x = rows(grad), rows(input)
  of_input = left(g, weight.t(), x).reshape(input.size()) if wanted[0] else None
  of_weight = right(g, x, weight.t()).t() if wanted[1] else None
  return of_input, of_weight, reduced(g, torch._unwrap_optional(bias)) if wanted[2] else None

def product(sizes: List[int]) -> int:
  result = 1
  for n in sizes:
    result *= n
  return result

def batched(x: Tensor, batch: List[int]) -> Tensor:
  return x.expand(batch + x.size()[-2:]).reshape([product(batch), x.size(-2), x.size(-1)])

def matmul_left(grad: Tensor, a: Tensor, b: Tensor) -> Tensor:
  if a.dim() == 1 and b.dim() == 1:
    return grad * b
  if a.dim() == 2 and b.dim() == 1:
    return grad.ger(b)
  if a.dim() == 1 and b.dim() == 2:
    return left(grad.unsqueeze(0), b, a.unsqueeze(0)).squeeze(0)
  if a.dim() == 2 and b.dim() == 2:
    return left(grad, b, a)
  return matmul_left_batched(grad, a, b)

# A product with operands of any rank as one of stacks of matrices: the gradient and both operands, and the sizes of the
# stack.
def as_stacks(grad: Tensor, a: Tensor, b: Tensor) -> Tuple[Tensor, Tensor, Tensor, List[int]]:
  if a.dim() == 1:
    grad = grad.unsqueeze(-2)
    a = a.unsqueeze(0)
  if b.dim() == 1:
    grad = grad.unsqueeze(-1)
    b = b.unsqueeze(1)
  batch = grad.size()[:-2]
  return grad.reshape([product(batch), a.size(-2), b.size(-1)]), a, b, batch

def matmul_left_batched(grad: Tensor, a: Tensor, b: Tensor) -> Tensor:
  g, a2, b2, batch = as_stacks(grad, a, b)
  result = g.bmm(batched(b2, batch).transpose(1, 2)).reshape(batch + [a2.size(-2), a2.size(-1)])
  return reduced(result, a2).reshape(a.size())

def matmul_right(grad: Tensor, a: Tensor, b: Tensor) -> Tensor:
  if a.dim() == 1 and b.dim() == 1:
    return grad * a
  if a.dim() == 2 and b.dim() == 1:
    return a.t().mv(grad)
  if a.dim() == 1 and b.dim() == 2:
    return right(grad.unsqueeze(0), a.unsqueeze(0), b)
  if a.dim() == 2 and b.dim() == 2:
    return right(grad, a, b)
  return matmul_right_batched(grad, a, b)

def matmul_right_batched(grad: Tensor, a: Tensor, b: Tensor) -> Tensor:
  g, a2, b2, batch = as_stacks(grad, a, b)
  result = batched(a2, batch).transpose(1, 2).bmm(g).reshape(batch + [a2.size(-1), b2.size(-1)])
  return reduced(result, b2).reshape(b.size())

def lstm_step(
    input: Tensor, hx: List[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]):
  if len(hx) != 2:
    raise RuntimeError("lstm_cell expects two hidden states")
  check_cell(input, hx[0], w_ih, w_hh)
  check_hidden(input, hx[1], w_hh, "hidden1")
  gates = torch.linear(hx[0], w_hh, b_hh) + torch.linear(input, w_ih, b_ih)
  i, f, g, o = gates.chunk(4, 1)
  c = f.sigmoid() * hx[1] + i.sigmoid() * g.tanh()
  return o.sigmoid() * c.tanh(), c

def folded(a: Tensor, b: Tensor) -> Tensor:
  sizes: List[int] = []
  rows = 1
  for d in range(a.dim() - 1):
    sizes.append(a.size(d))
    rows *= a.size(d)
  flat = a.reshape([rows, a.size(-1)])
  if b.dim() == 1:
    return torch._unsafe_view(flat.mv(b), sizes)
  sizes.append(b.size(1))
  return torch._unsafe_view(flat.mm(b), sizes)

def folded_from_right(a: Tensor, b: Tensor) -> Tensor:
  result = folded(b.mT, a.t() if a.dim() == 2 else a)
  return result.mT.contiguous() if a.dim() == 2 else result

def cholesky_gradient(grad: Tensor, result: Tensor, upper: bool) -> Tensor:
  l = result.mT if upper else result
  g = grad.mT if upper else grad
  a = torch.matmul(l.mT, g).tril()
  a = 0.5 * (a + a.tril(-1).mT)
  a = torch.linalg_solve_triangular(l.mT, a, upper=True, left=True)
  return torch.linalg_solve_triangular(l, a, upper=False, left=False)

def is_vector(a: Tensor, b: Tensor) -> bool:
  return b.dim() == 1 or (a.dim() - 1 == b.dim() and b.size() == a.size()[:-1])

def solved(a: Tensor, b: Tensor, left: bool) -> Tensor:
  x, lu, pivots, info = torch._linalg_solve_ex(a, b, left=left)
  torch._linalg_check_errors(info, "torch.linalg.solve", is_matrix=a.dim() == 2)
  return x

def solve_matrix(grad: Tensor, a: Tensor, lu: Tensor, pivots: Tensor, left: bool) -> Tensor:
  if torch.is_grad_enabled():
    return torch.linalg_solve(a.mT, grad, left=left)
  return torch.linalg_lu_solve(lu, pivots, grad, left=left, adjoint=True)

def solve_gradients(grad: Tensor, result: Tensor, a: Tensor, b: Tensor, lu: Tensor, pivots: Tensor, left: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
  vector = is_vector(a, b)
  g = solve_matrix(grad.unsqueeze(-1) if vector else grad, a, lu, pivots, left)
  x = result.unsqueeze(-1) if vector else result
  of_a = reduced(-torch.matmul(g, x.mT) if left else -torch.matmul(x.mT, g), a) if wanted[0] else None
  return of_a, reduced(g.squeeze(-1) if vector else g, b) if wanted[1] else None

def triangular_gradients(grad: Tensor, a: Tensor, b: Tensor, x: Tensor, upper: bool, left: bool, unitriangular: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
  g = torch.linalg_solve_triangular(a.mT, grad, upper=not upper, left=left, unitriangular=unitriangular)
  of_a: Optional[Tensor] = None
  if wanted[0]:
    result = -torch.matmul(g, x.mT) if left else -torch.matmul(x.mT, g)
    skip = 1 if unitriangular else 0
    of_a = reduced(result.triu(skip) if upper else result.tril(-skip), a)
  return of_a, reduced(g, b) if wanted[1] else None

# `scaled` is what the identity is multiplied by before the system is solved.
def det_gradient(scaled: Tensor, a: Tensor, lu: Tensor, pivots: Tensor) -> Tensor:
  d = torch.diag_embed(scaled.unsqueeze(-1).expand(pivots.size()))
  if torch.is_grad_enabled():
    return torch.linalg_solve(a.mT, d)
  eps = 2.220446049250313e-16 if a.dtype == torch.float64 else 1.1920928955078125e-07
  safe = lu + torch.diag_embed(torch.where(lu.diagonal(0, -2, -1) == 0.0, eps, 0.0))
  return torch.linalg_lu_solve(safe, pivots, d, left=True, adjoint=not a.is_contiguous())

def slogdet_gradient(grad: Tensor, a: Tensor) -> Tensor:
  sign, logabsdet, lu, pivots = torch._linalg_slogdet(a)
  return det_gradient(grad, a, lu, pivots)

def qr_gradient(of_q: Tensor, of_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
  m, n = q.size(-2), r.size(-1)
  g = torch.matmul(of_r, r.mT) - torch.matmul(q.mT, of_q)
  if m >= n:
    u = g.triu()
    return torch.linalg_solve_triangular(r.mT, torch.matmul(q, u + u.triu(1).mT) + of_q, upper=False, left=False)
  g = torch.matmul(q, (g.mT - g).tril())
  g = torch.linalg_solve_triangular(r.narrow(-1, 0, m).mT, g, upper=False, left=False)
  return torch.cat([g, torch.zeros_like(r.narrow(-1, 0, n - m))], -1) + torch.matmul(q, of_r)

# The differences of all pairs, and 1 for those that don't matter: of one number with itself and, if no gradient comes
# in that they divide, of equal numbers.
def gaps(x: Tensor, grad: Tensor) -> Tensor:
  gap = x.unsqueeze(-2) - x.unsqueeze(-1)
  return (gap + torch.diag_embed(torch.ones_like(x))).masked_fill((gap == 0).logical_and((grad == 0).all()), 1)

def matters(grad: Tensor) -> bool:
  return torch.is_grad_enabled() or bool(grad.any())

def eigh_gradient(of_values: Tensor, of_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
  if not matters(of_vectors):
    return torch.matmul(vectors * of_values.unsqueeze(-2), vectors.mT)
  turn = torch.matmul(vectors.mT, of_vectors)
  turn = (turn - turn.mT) * 0.5
  g = turn / gaps(values, of_vectors) + torch.diag_embed(of_values)
  return torch.matmul(vectors, torch.matmul(g, vectors.mT))

def svd_gradient(of_u: Tensor, of_s: Tensor, of_vh: Tensor, u: Tensor, s: Tensor, vh: Tensor, full: bool) -> Tensor:
  m, n, k = u.size(-2), vh.size(-1), s.size(-1)
  if full:
    of_u, u = of_u.narrow(-1, 0, k), u.narrow(-1, 0, k)
    of_vh, vh = of_vh.narrow(-2, 0, k), vh.narrow(-2, 0, k)
  if not matters(of_u) and not matters(of_vh):
    return torch.matmul(u, of_s.unsqueeze(-1) * vh) if m >= n else torch.matmul(u * of_s.unsqueeze(-2), vh)
  turn_u, turn_v = torch.matmul(u.mT, of_u), torch.matmul(vh, of_vh.mT)
  turn_u, turn_v = turn_u - turn_u.mT, turn_v - turn_v.mT
  gap = gaps(s * s, torch.cat([of_u.flatten(), of_vh.flatten()]))
  if not matters(of_vh):
    g = (turn_u / gap) * s.unsqueeze(-2)
  elif not matters(of_u):
    g = s.unsqueeze(-1) * (turn_v / gap)
  else:
    g = (turn_u * s.unsqueeze(-2) + s.unsqueeze(-1) * turn_v) / gap
  g = g + torch.diag_embed(of_s)
  if m > k and matters(of_u):
    scaled = of_u / s.unsqueeze(-2)
    return torch.matmul(torch.matmul(u, g) + scaled - torch.matmul(u, torch.matmul(u.mT, scaled)), vh)
  if n > k and matters(of_vh):
    scaled = of_vh / s.unsqueeze(-1)
    return torch.matmul(u, torch.matmul(g, vh) + scaled - torch.matmul(torch.matmul(scaled, vh.mT), vh))
  return torch.matmul(u, torch.matmul(g, vh)) if m >= n else torch.matmul(torch.matmul(u, g), vh)

def log_of_determinant(a: Tensor) -> Tensor:
  sign, logabsdet, lu, pivots = torch._linalg_slogdet(a)
  return torch.where(sign == -1.0, float("nan"), logabsdet)

def norm_gradient(grad: Tensor, x: Tensor, p: float, norm: Tensor, dims: Optional[List[int]], keepdim: bool) -> Tensor:
  grad = spread(grad, x, dims, keepdim)
  norm = spread(norm, x, dims, keepdim)
  if p == 0.0:
    return torch.zeros_like(x)
  if p == 1.0:
    return x.sgn() * grad
  if p == 2.0:
    return grad * torch.where(norm == 0, 0.0, x / norm)
  size = x.abs()
  if p == float("inf") or p == -float("inf"):
    mask = size.eq(norm).logical_or(size.isnan())
    total = mask.sum() if dims is None else mask.sum(dims, True)
    return x.sgn() * ((grad / total) * mask)
  if p < 1.0:
    return x.sgn() * size.pow(p - 1).masked_fill(x == 0, 0) * grad * norm.pow(1 - p)
  scale = (grad / norm.pow(p - 1)).masked_fill(norm == 0, 0)
  if p < 2.0:
    return x.sgn() * size.pow(p - 1) * scale
  return x * size.pow(p - 2) * scale
)"
                                   R"(
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

def scatter_reduce_gradients(grad: Tensor, x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
  if reduce == "sum":
    of_x, of_src = grad, grad.gather(dim, index)
  elif reduce == "mean":
    n = torch.ones_like(grad) if include_self else torch.zeros_like(grad)
    n = n.scatter_add(dim, index, torch.ones_like(src))
    of_x = grad / n.masked_fill(n == 0, 1)
    of_src = of_x.gather(dim, index)
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
)"
                                   R"(
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
  input = wide(x)
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
)"
                                   R"(
# Losses: reduction is 0 for none, 1 for the mean, 2 for the sum.
def averaged(loss: Tensor, reduction: int) -> Tensor:
  if reduction == 1:
    return loss.mean()
  if reduction == 2:
    return loss.sum()
  return loss

# The order of operations decides in which order gradients are added up.
def divergence(x: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
  if log_target:
    difference = target - x
    return averaged(torch.exp(target) * difference, reduction)
  product = target * x
  return averaged(torch.xlogy(target, target) - product, reduction)

def distance(x: Tensor, y: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
  return torch.linalg_vector_norm(x - y + eps, p, [-1], keepdim)

def triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: int) -> Tensor:
  to_positive, to_negative = distance(anchor, positive, p, eps, False), distance(anchor, negative, p, eps, False)
  if swap:
    to_negative = torch.minimum(to_negative, distance(positive, negative, p, eps, False))
  return averaged(torch.clamp_min(to_positive + margin - to_negative, 0), reduction)

def angle_loss(x: Tensor, y: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
  d = target.dim()
  product = (x * y).sum(d)
  size_x, size_y = (x * x).sum(d) + 9.999999960041972e-13, (y * y).sum(d) + 9.999999960041972e-13
  cos = product / (size_x * size_y).sqrt()
  zeros = torch.zeros_like(cos)
  alike, unlike = torch.where(target == 1, 1 - cos, zeros), torch.where(target == -1, (cos - margin).clamp_min(0), zeros)
  return averaged(alike + unlike, reduction)

def hinge(x: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
  zeros = torch.zeros_like(x)
  outside = torch.where(target != 1, (margin - x).clamp_min(0), zeros)
  return averaged(outside + torch.where(target != -1, x, zeros), reduction)

def poisson(x: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
  loss = torch.exp(x) - target * x if log_input else x - target * torch.log(x + eps)
  if full:
    rest = torch.log(target * 6.283185307179586) * 0.5
    stirling = target * torch.log(target) - target + rest
    loss = loss + stirling.masked_fill(target <= 1, 0)
  return averaged(loss, reduction)

# Of the cosine of the angle between two tensors. Lengths below `eps` count as that in all
# other ways, but have their own gradients.
def cosine_gradients(grad: Tensor, x: Tensor, y: Tensor, dim: int, eps: float, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
  a, b = torch.broadcast_tensors([x, y])
  norm_a, norm_b = torch.linalg_vector_norm(a, 2, [dim], True), torch.linalg_vector_norm(b, 2, [dim], True)
  length_a, length_b = norm_a.clamp_min(eps), norm_b.clamp_min(eps)
  unit_a, unit_b = a / length_a, b / length_b
  g = grad.unsqueeze(dim).expand(a.size())
  of_x = reduced(cosine_gradient(g * unit_b, a, unit_a, norm_a, length_a, dim), x) if wanted[0] else None
  return of_x, reduced(cosine_gradient(g * unit_a, b, unit_b, norm_b, length_b, dim), y) if wanted[1] else None

def cosine_gradient(grad: Tensor, x: Tensor, unit: Tensor, norm: Tensor, length: Tensor, dim: int) -> Tensor:
  of_length = (-grad * (unit / length)).sum(dim, True)
  return grad / length + norm_gradient(of_length, x, 2.0, norm, [dim], True)

def of_classes(weight: Tensor, like: Tensor) -> Tensor:
  sizes: List[int] = []
  for d in range(like.dim()):
    sizes.append(weight.size(0) if d == (0 if like.dim() == 1 else 1) else 1)
  return weight.view(sizes)

# The target is a probability per class, in two dimensions.
def cross_entropy_of_probabilities(x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, smoothing: float) -> Tensor:
  n = x.size(1)
  if x.size(0) != target.size(0):
    raise ValueError("Expected input batch_size (" + str(x.size(0)) + ") to match target batch_size (" + str(target.size(0)) + ").")
  if n != target.size(1):
    raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
  if weight is not None:
    if weight.numel() != n:
      raise RuntimeError("cross_entropy: weight tensor should be defined either for all " + str(n) + " classes or no classes but got weight tensor of shape: " + str(weight.size()))
  input = torch.log_softmax(x, 1, dtype=x.dtype)
  t = target * (1 - smoothing) + smoothing / n if smoothing > 0.0 else target
  losses = input * t if weight is None else input * t * of_classes(torch._unwrap_optional(weight), input)
  if reduction == 1:
    return -(losses.sum()) / (input.numel() // n if n > 0 else 0)
  return -(losses.sum()) if reduction == 2 else -(losses.sum(1))

# The target is a class.
def smooth_cross_entropy(x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, smoothing: float) -> Tensor:
  classes = 0 if x.dim() == 1 else 1
  input = torch.log_softmax(x, classes, dtype=x.dtype)
  loss = loss_of_classes(input, target, weight, reduction, ignore_index)
  ignored = target == ignore_index
  smooth = -(input if weight is None else input * of_classes(torch._unwrap_optional(weight), input)).sum(classes)
  smooth = smooth.masked_fill(ignored, 0.0)
  if reduction == 1:
    if weight is None:
      smooth = smooth.sum() / ignored.logical_not().sum()
    else:
      counted = target.masked_select(ignored.logical_not()).flatten()
      smooth = smooth.sum() / torch._unwrap_optional(weight).gather(0, counted).sum()
  elif reduction == 2:
    smooth = smooth.sum()
  return loss * (1 - smoothing) + smooth * (smoothing / input.size(classes))

# Backward kernels of means divide by the number of elements of one operand, though others may broadcast it.
def averaged_slope(grad: Tensor, like: Tensor, reduction: int) -> Tensor:
  return grad / like.numel() if reduction == 1 else grad

def loss_second_of_grad(x: Tensor, grad_output: Tensor, like: Tensor, reduction: int) -> Tensor:
  if reduction == 0:
    return reduced(x, grad_output)
  return averaged_slope(x.sum(), like, reduction).reshape(grad_output.size())

def smooth_l1_second(grad: Tensor, x: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
  if beta == 0.0:
    return torch.zeros_like(grad)
  return averaged_slope(grad * ((x - target).abs() < beta) / beta, x, reduction)

def huber_second(grad: Tensor, x: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
  return averaged_slope(grad * ((x - target).abs() < delta), x, reduction)

def softmax_second(grad: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
  return grad_output * grad - (output * grad_output).sum(dim, True) * grad - grad_output * (output * grad).sum(dim, True)

def bce_target(grad: Tensor, x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
  result = torch.logit(x).neg()
  if weight is not None:
    result = result.mul(weight)
  result = result.mul(grad)
  return result.div(target.numel()) if reduction == 1 else result

def bce_logits(grad: Tensor, x: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
  if pos_weight is not None:
    t = pos_weight.mul(target)
    result = t.add(1).sub(target).mul(x.sigmoid()).sub(t)
  else:
    result = x.sigmoid() - target
  result = result.mul(grad)
  if weight is not None:
    result = result.mul(weight)
  return result.div(x.numel()) if reduction == 1 else result

def bce_logits_target(grad: Tensor, x: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
  if pos_weight is not None:
    result = torch.log_sigmoid(-x).sub(torch.log_sigmoid(x).mul(pos_weight)).mul(grad)
  else:
    result = -x * grad
  if weight is not None:
    result = result.mul(weight)
  return result.div(target.numel()) if reduction == 1 else result

# The target is a class.
def loss_of_classes(x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
  if x.dim() != 1 and x.dim() != 2 and x.dim() != 4:
    return torch.nll_loss_nd(x, target, weight, reduction, ignore_index)
  if x.dim() != 1:
    if x.size(0) != target.size(0):
      raise ValueError("Expected input batch_size (" + str(x.size(0)) + ") to match target batch_size (" + str(target.size(0)) + ").")
  if x.dim() == 4:
    return torch.nll_loss2d(x, target, weight, reduction, ignore_index)
  return torch.nll_loss(x, target, weight, reduction, ignore_index)

# Where the input has other than one, two or four dimensions.
def nll_gradient(grad: Tensor, x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
  n, c = x.size(0), x.size(1)
  rest = target.numel() // max(n, 1)  # of no elements, -1 could be any
  flat = x.contiguous().view([n, c, 1, rest])
  to = target.contiguous().view([n, 1, rest])
  total = torch.nll_loss2d_forward(flat, to, weight, reduction, ignore_index)[1]
  g = grad.reshape([n, 1, rest]) if reduction == 0 else grad
  return torch.nll_loss2d_backward(g, flat, to, weight, reduction, ignore_index, total).view(x.size())
)";

}  // namespace cresset
