// Functions that derivative rules share: of losses. See formulas.h.
#include "cresset/autodiff/formulas.h"

namespace cresset::formulas {

const std::string_view kLosses = R"(
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
  alike, unlike = torch.where(target == 1, 1 - cos, 0.0), torch.where(target == -1, (cos - margin).clamp_min(0), 0.0)
  return averaged(alike + unlike, reduction)

def hinge(x: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
  outside = torch.where(target != 1, (margin - x).clamp_min(0), 0.0)
  return averaged(outside + torch.where(target != -1, x, 0.0), reduction)

def poisson(x: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
  loss = torch.exp(x) - target * x if log_input else x - target * torch.log(x + eps)
  if full:
    rest = torch.log(target * 6.283185307179586) * 0.5
    stirling = target * torch.log(target) - target + rest
    loss = loss + stirling.masked_fill(target <= 1, 0)
  return averaged(loss, reduction)

# The cosine of the angle between two tensors. Lengths below `eps` count as that in all
# other ways, but have their own gradients.
def cosine(x: Tensor, y: Tensor, dim: int, eps: float) -> Tensor:
  a, b = torch.broadcast_tensors([x, y])
  return (unit_along(a, dim, eps) * unit_along(b, dim, eps)).sum([dim])

# For kernels, whose result is one of tensors that are not broadcast.
def cosine_of_equal(x: Tensor, y: Tensor, dim: int, eps: float) -> Tensor:
  if x.size() != y.size():
    return torch.cosine_similarity(x, y, dim, eps)
  a = x / torch.linalg_vector_norm(x, 2, [dim], True).clamp_min(eps)
  b = y / torch.linalg_vector_norm(y, 2, [dim], True).clamp_min(eps)
  return (a * b).sum([dim])

def unit_along(x: Tensor, dim: int, eps: float) -> Tensor:
  norm = torch.linalg_vector_norm(x, 2, [dim], True)
  return x / torch.where(norm < eps, norm - norm.detach() + eps, norm)

def of_classes(weight: Tensor, like: Tensor) -> Tensor:
  sizes: List[int] = []
  for d in range(like.dim()):
    sizes.append(weight.size(0) if d == (0 if like.dim() == 1 else 1) else 1)
  return weight.view(sizes)

# The target is a probability per class, in two dimensions.
def losses_of_probabilities(x: Tensor, target: Tensor, weight: Optional[Tensor], smoothing: float) -> Tensor:
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
  return input * t if weight is None else input * t * torch._unwrap_optional(weight)

def cross_entropy_of_probabilities(x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, smoothing: float) -> Tensor:
  n, losses = x.size(1), losses_of_probabilities(x, target, weight, smoothing)
  if reduction == 1:
    return -(losses.sum()) / (x.numel() // n if n > 0 else 0)
  return -(losses.sum()) if reduction == 2 else -(losses.sum(1))

# For kernels: along rows first, with the softmax.
def averaged_probabilities(x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, smoothing: float) -> Tensor:
  losses = -(losses_of_probabilities(x, target, weight, smoothing).sum(1))
  if reduction == 1:
    return losses.sum() / (x.size(0) if x.size(1) > 0 else 0)
  return losses.sum() if reduction == 2 else losses

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

# For kernels, of each element of the target. The softmax's logarithm is that of a sum over classes, taken from each
# element: the one that is chosen suffices.
def losses_of_classes(x: Tensor, target: Tensor, weight: Optional[Tensor], ignore_index: int) -> Tensor:
  if weight is not None:
    return torch.nll_loss_nd(torch.log_softmax(x, 1), target, weight, 0, ignore_index)
  d = x - x.amax([1], True)
  losses = torch.nll_loss_nd(d, target, None, 0, ignore_index) + d.exp().sum([1]).log()
  return losses.masked_fill(target == ignore_index, 0.0)

# The same with smoothing.
def smooth_losses(x: Tensor, target: Tensor, weight: Optional[Tensor], ignore_index: int, smoothing: float) -> Tensor:
  input = torch.log_softmax(x, 1)
  losses = torch.nll_loss_nd(input, target, weight, 0, ignore_index)
  smooth = input
  if weight is not None:
    w = torch._unwrap_optional(weight)
    for d in range(2, x.dim()):
      w = w.unsqueeze(-1)
    smooth = input * w
  rest = -(smooth.sum(1)).masked_fill(target == ignore_index, 0.0)
  return losses * (1 - smoothing) + rest * (smoothing / x.size(1))

# What nll_loss makes of its values for each element of the target, for kernels. A wrong class has raised there.
def averaged_classes(losses: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
  if reduction == 0:
    return losses
  if reduction == 2:
    return losses.sum()
  if weight is None:
    return losses.sum() / (target != ignore_index).sum()
  ignored = target == ignore_index
  weights = torch._unwrap_optional(weight)[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
  return losses.sum() / weights.sum()

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

}  // namespace cresset::formulas
