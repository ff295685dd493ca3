// Functions that derivative rules share: of products and decompositions of matrices, and of distances. See formulas.h.
#include "cresset/autodiff/formulas.h"

namespace cresset::formulas {

const std::string_view kMatrices = R"(
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
  g = rows(grad)
  of_input: Optional[Tensor] = None
  if wanted[0]:
    of_input = left(g, weight.t(), input).reshape(input.size())
  of_weight = right(g, rows(input), weight.t()).t() if wanted[1] else None
  return of_input, of_weight, reduced(g, torch._unwrap_optional(bias)) if wanted[2] else None

def product(sizes: List[int]) -> int:
  result = 1
  for n in sizes:
    result *= n
  return result

# tensordot at known dimensions: what is summed over comes last in the first factor, first in the second; of two sizes
# one may be 1. Dimensions are letters, as of einsum, since texts are computed once and lists in each call.
def letter_of(dim: int, rank: int) -> str:
  return "abcdefghijklmnopqrstuvwxyz"[dim + rank if dim < 0 else dim]

def letters_of_dims(dims: List[int], rank: int) -> str:
  letters = ""
  for i in range(len(dims)):
    letters += letter_of(dims[i], rank)
  return letters

def with_common_sizes(x: Tensor, other: Tensor, dims: List[int], dims_other: List[int]) -> Tensor:
  summed = letters_of_dims(dims, x.dim())
  sizes: List[int] = []
  for k in range(x.dim()):
    place = summed.find(letter_of(k, x.dim()))
    sizes.append(x.size(k) if place < 0 else torch.ops.cresset.common_size(x.size(k), other.size(dims_other[place]), dims[place], dims_other[place]))
  return torch._grad_sum_to_size(x, sizes)

def contracted(a: Tensor, b: Tensor, dims_a: List[int], dims_b: List[int]) -> Tensor:
  x, y = with_common_sizes(a, b, dims_a, dims_b), with_common_sizes(b, a, dims_b, dims_a)
  of_a, of_b = letters_of_dims(dims_a, a.dim()), letters_of_dims(dims_b, b.dim())
  order_a: List[int] = []
  order_b: List[int] = []
  sizes: List[int] = []
  rows, summed, columns = 1, 1, 1
  for k in range(a.dim()):
    if of_a.find(letter_of(k, a.dim())) < 0:
      order_a.append(k)
      sizes.append(a.size(k))
      rows *= a.size(k)
  for i in range(len(dims_a)):
    order_a.append(dims_a[i])
    order_b.append(dims_b[i])
    summed *= x.size(dims_a[i])
  for k in range(b.dim()):
    if of_b.find(letter_of(k, b.dim())) < 0:
      order_b.append(k)
      sizes.append(b.size(k))
      columns *= b.size(k)
  return torch.mm(x.permute(order_a).reshape([rows, summed]), y.permute(order_b).reshape([summed, columns])).reshape(sizes)

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

# With a bias, PyTorch computes product and sum of a contiguous input in one.
def folded_linear(input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
  if bias is None:
    return folded(input, weight.t())
  if input.is_contiguous():
    return torch.linear(input, weight, bias)
  # The bias may not make the result larger.
  return torch._unsafe_view(folded(input, weight.t()) + bias, input.size()[:-1] + [weight.size(0)])

def folded_from_right(a: Tensor, b: Tensor) -> Tensor:
  result = folded(b.mT, a.t() if a.dim() == 2 else a)
  return result.mT.contiguous() if a.dim() == 2 else result

# From this many rows on PyTorch computes Euclidean distances by a product of matrices, with a derivative of its own.
def is_distance_by_product(x1: Tensor, x2: Tensor, p: float, compute_mode: Optional[int]) -> bool:
  if p != 2.0 or x1.numel() == 0 or x2.numel() == 0:
    return False
  mode = 0 if compute_mode is None else compute_mode
  return mode == 1 or (mode == 0 and (x1.size(-2) > 25 or x2.size(-2) > 25))

def cdist_gradients(grad: Tensor, x1: Tensor, x2: Tensor, p: float, compute_mode: Optional[int], result: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
  of_x1: Optional[Tensor] = None
  of_x2: Optional[Tensor] = None
  if is_distance_by_product(x1, x2, p, compute_mode):
    ratio = (grad / result).masked_fill(result == 0, 0)
    if wanted[0]:
      of_x1 = reduced(x1 * ratio.sum([-1], True) - torch.matmul(ratio, x2), x1)
    if wanted[1]:
      of_x2 = reduced(x2 * ratio.sum([-2]).unsqueeze(-1) - torch.matmul(ratio.mT, x1), x2)
    return of_x1, of_x2
  if wanted[0]:
    of_x1 = reduced(torch._cdist_backward(grad.contiguous(), x1, x2, p, result), x1)
  if wanted[1]:
    of_x2 = reduced(torch._cdist_backward(grad.mT.contiguous(), x2, x1, p, result.mT.contiguous()), x2)
  return of_x1, of_x2

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

def diagonal_matrices(scaled: Tensor, pivots: Tensor) -> Tensor:
  return torch.diag_embed(scaled.unsqueeze(-1).expand(pivots.size()))

# Of matrices that are singular, from the adjugate one: the products of all other singular values.
def det_gradient_of_singular(grad: Tensor, a: Tensor) -> Tensor:
  u, s, vh = torch.linalg_svd(a)
  signed = torch.linalg_det(u) * torch.linalg_det(vh) * grad
  return torch.matmul(u * others(signed.unsqueeze(-1), s, s.dim() - 1).unsqueeze(-2), vh)

def det_gradient(grad: Tensor, a: Tensor, det: Tensor, lu: Tensor, pivots: Tensor) -> Tensor:
  if a.size(-1) == 1:
    return grad.unsqueeze(-1).unsqueeze(-1)
  d = diagonal_matrices(grad * det, pivots)
  eps = 2.220446049250313e-16 if a.dtype == torch.float64 else 1.1920928955078125e-07
  if not torch.is_grad_enabled():
    safe = lu + torch.diag_embed(torch.where(lu.diagonal(0, -2, -1) == 0.0, eps, 0.0))
    return torch.linalg_lu_solve(safe, pivots, d, left=True, adjoint=not a.is_contiguous())
  singular = det.abs() < 100.0 * eps
  if not bool(singular.any()):
    return torch.linalg_solve(a.mT, d)
  if bool(singular.all()):
    return det_gradient_of_singular(grad, a)
  regular = singular.logical_not()
  result = torch.zeros_like(a).index_put([singular], det_gradient_of_singular(grad[singular], a[singular]))
  return result.index_put([regular], torch.linalg_solve(a[regular].mT, d[regular]))

def logabsdet_gradient(grad: Tensor, a: Tensor, lu: Tensor, pivots: Tensor) -> Tensor:
  d = diagonal_matrices(grad, pivots)
  if torch.is_grad_enabled():
    return torch.linalg_solve(a.mT, d)
  return torch.linalg_lu_solve(lu, pivots, d, left=True, adjoint=not a.is_contiguous())

def slogdet_gradient(grad: Tensor, a: Tensor) -> Tensor:
  sign, logabsdet, lu, pivots = torch._linalg_slogdet(a)
  return logabsdet_gradient(grad, a, lu, pivots)

def qr_gradient(of_q: Tensor, of_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
  m, n = q.size(-2), r.size(-1)
  g = torch.matmul(of_r, r.mT) - torch.matmul(q.mT, of_q)
  if m >= n:
    u = g.triu()
    return torch.linalg_solve_triangular(r.mT, torch.matmul(q, u + u.triu(1).mT) + of_q, upper=False, left=False)
  g = torch.matmul(q, (g.mT - g).tril())
  g = torch.linalg_solve_triangular(r.narrow(-1, 0, m).mT, g, upper=False, left=False)
  return torch.cat([g, torch.zeros_like(r.narrow(-1, 0, n - m))], -1) + torch.matmul(q, of_r)

# The differences of all pairs, and 1 for those of one number with itself.
def gaps(x: Tensor) -> Tensor:
  return x.unsqueeze(-2) - x.unsqueeze(-1) + torch.diag_embed(torch.ones_like(x))

# Where no gradient of the vectors comes in, equal values are as good as others.
def eigh_gradient(of_values: Tensor, of_vectors: Tensor, values: Tensor, vectors: Tensor, given: List[bool]) -> Tensor:
  if not given[1]:
    return torch.matmul(vectors * of_values.unsqueeze(-2), vectors.mT)
  turn = torch.matmul(vectors.mT, of_vectors)
  turn = (turn - turn.mT) * 0.5
  g = turn / gaps(values) + torch.diag_embed(of_values)
  return torch.matmul(vectors, torch.matmul(g, vectors.mT))

def svd_gradient(of_u: Tensor, of_s: Tensor, of_vh: Tensor, u: Tensor, s: Tensor, vh: Tensor, full: bool, given: List[bool]) -> Tensor:
  m, n, k = u.size(-2), vh.size(-1), s.size(-1)
  if full:
    of_u, u = of_u.narrow(-1, 0, k), u.narrow(-1, 0, k)
    of_vh, vh = of_vh.narrow(-2, 0, k), vh.narrow(-2, 0, k)
  if not given[0] and not given[2]:
    return torch.matmul(u, of_s.unsqueeze(-1) * vh) if m >= n else torch.matmul(u * of_s.unsqueeze(-2), vh)
  turn_u, turn_v = torch.matmul(u.mT, of_u), torch.matmul(vh, of_vh.mT)
  turn_u, turn_v = turn_u - turn_u.mT, turn_v - turn_v.mT
  gap = gaps(s * s)
  if not given[2]:
    g = (turn_u / gap) * s.unsqueeze(-2)
  elif not given[0]:
    g = s.unsqueeze(-1) * (turn_v / gap)
  else:
    g = (turn_u * s.unsqueeze(-2) + s.unsqueeze(-1) * turn_v) / gap
  g = g + torch.diag_embed(of_s)
  if m > k and given[0]:
    scaled = of_u / s.unsqueeze(-2)
    return torch.matmul(torch.matmul(u, g) + scaled - torch.matmul(u, torch.matmul(u.mT, scaled)), vh)
  if n > k and given[2]:
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
)";

}  // namespace cresset::formulas
