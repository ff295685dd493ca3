# run: gradient
def f(w, i):
  return torch.embedding(w, i) * 2
# call: f(torch.randn(3, 2).requires_grad_(), torch.tensor([0, 2]))
# ---- expect
# f(torch.randn(3, 2).requires_grad_(), torch.tensor([0, 2]))
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %i : Long(*, requires_grad=0, device=cpu)):
  %7 : int[] = aten::size(%0)
  %2 : int = prim::Constant[value=-1]()
  %3 : bool = prim::Constant[value=0]()
  %4 : Float(*, *, device=cpu) = aten::embedding(%0, %i, %2, %3, %3)
  %5 : int = prim::Constant[value=2]()
  %6 : Float(*, *, device=cpu) = aten::mul(%4, %5)
  return (%6)
# keeps %i, %7
# backward, of %6 with respect to %0
graph(%0 : Float(*, *, device=cpu),
      %15 : Long(*, requires_grad=0, device=cpu),
      %16 : int[]):
  %8 : int = prim::Constant[value=0]()
  %6 : bool = prim::Constant[value=0]()
  %5 : int = prim::Constant[value=-1]()
  %1 : int = prim::Constant[value=2]()
  %2 : Tensor(*, *) = aten::mul(%0, %1)
  %13 : int = aten::__getitem__(%16, %8)
  %10 : Tensor(*, *) = aten::embedding_backward(%2, %15, %13, %5, %6, %6)
  %11 : (Tensor(*, *)) = prim::TupleConstruct(%10)
  return (%11)
