# run: plan
# Loops over lists of integers that are attributes have a known length; what is held is the list itself.
class M:
  def __init__(self, dims: List[int]):
    self.dims = dims
def f(m: M, x):
  l: List[Tensor] = []
  at = 0
  for d in m.dims:
    l.append(x[:, at : at + d].reshape(-1, d, 1))
    at += d
  sizes = list(x.shape)
  sizes[0] = m.dims[0]
  return torch.cat(l, 1) * 2, sizes, m.dims
# call: f(M([1, 2]), torch.ones(2, 3))
# ---- expect
# f(M([1, 2]), torch.ones(2, 3))
graph(%m : M,
      %x : Float(*, *, requires_grad=0, device=cpu),
      %m.dims : int[]):
  %65 : int = prim::Constant[value=3]()
  %19 : int = prim::Constant[value=-1]()
  %12 : NoneType = prim::Constant()
  %at.1 : int = prim::Constant[value=0]()
  %40 : int = prim::Constant[value=1]()
  %41 : int = prim::Constant[value=2]()
  %52 : Float(*, *, requires_grad=0, device=cpu) = aten::slice(%x, %at.1, %12, %12, %40)
  %53 : Float(*, *, requires_grad=0, device=cpu) = aten::slice(%52, %40, %at.1, %40, %40)
  %54 : int[] = prim::ListConstruct(%19, %40, %40)
  %55 : Float(*, *, *, requires_grad=0, device=cpu) = aten::reshape(%53, %54)
  %60 : Float(*, *, requires_grad=0, device=cpu) = aten::slice(%x, %at.1, %12, %12, %40)
  %61 : Float(*, *, requires_grad=0, device=cpu) = aten::slice(%60, %40, %40, %65, %40)
  %62 : int[] = prim::ListConstruct(%19, %41, %40)
  %63 : Float(*, *, *, requires_grad=0, device=cpu) = aten::reshape(%61, %62)
  %l : Tensor[] = prim::ListConstruct(%55, %63)
  %47 : int = aten::size(%x, %40)
  %sizes : int[] = prim::ListConstruct(%40, %47)
  %34 : Float(*, *, *, requires_grad=0, device=cpu) = aten::cat(%l, %40)
  %36 : Float(*, *, *, requires_grad=0, device=cpu) = aten::mul(%34, %41)
  %37 : int[] = prim::GetAttr[name="dims"](%m)
  %38 : (Tensor, int[], int[]) = prim::TupleConstruct(%36, %sizes, %37)
  return (%38)
