# run: plan
# The example of docs/decisions/0008-gradients.md.
def f(x, w, b):
  h = x @ w
  h += b
  return torch.relu(h).sum()
# call: f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_())
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=1, device=cpu),
      %b : Float(*, requires_grad=1, device=cpu)):
  %9 : Float(device=cpu) = prim::DifferentiableGraph_0(%b, %w, %x)
  return (%9)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu),
      %x : Float(*, *, requires_grad=0, device=cpu)):
  %h.1 : Float(*, *, device=cpu) = aten::matmul(%x, %1)
  %4 : int = prim::Constant[value=1]()
  %h : Float(*, *, device=cpu) = cresset::add(%h.1, %0, %4)
  %6 : Float(*, *, device=cpu) = aten::relu(%h)
  %7 : NoneType = prim::Constant()
  %8 : Float(device=cpu) = aten::sum(%6, %7)
  return (%8)
