# run: plan --inference
def f(x, w):
  return torch.tanh(x @ w) * x + 1
# call: f(torch.ones(2, 2), torch.ones(2, 2).requires_grad_())
# ---- expect
# f(torch.ones(2, 2), torch.ones(2, 2).requires_grad_())
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=1, device=cpu)):
  %5 : int = prim::Constant[value=1]()
  %2 : Float(*, *, requires_grad=0, device=cpu) = aten::matmul(%x, %w)
  %3 : Float(*, *, requires_grad=0, device=cpu) = aten::tanh(%2)
  %4 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%3, %x)
  %7 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%4, %5, %5)
  return (%7)
