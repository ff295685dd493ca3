# run: plan
# Parts of the sizes of a tensor whose rank is known are lists of known length: the rank of what is reshaped by them, too.
def f(x, y: List[int]):
  a = x.reshape(x.shape[:-1] + [2, 4])
  s = a.shape[1:]
  b = (a * 2).reshape(s[-1:] + [-1]).relu()
  t = list(x.shape)
  t[0] = 1
  return b + 1, s, (x[:1] + 1).reshape(t + [1])
# call: f(torch.ones(3, 8), [1])
# ---- expect
# f(torch.ones(3, 8), [1])
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %y : int[]):
  %38 : NoneType = prim::Constant()
  %23 : int = prim::Constant[value=-1]()
  %62 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=4]()
  %7 : int = prim::Constant[value=2]()
  %49 : int = prim::Constant[value=0]()
  %50 : int = aten::size(%x, %49)
  %59 : int[] = prim::ListConstruct(%50, %7, %8)
  %a : Float(*, *, *, requires_grad=0, device=cpu) = aten::reshape(%x, %59)
  %63 : int = aten::size(%a, %62)
  %65 : int = aten::size(%a, %7)
  %s : int[] = prim::ListConstruct(%63, %65)
  %18 : Float(*, *, *, requires_grad=0, device=cpu) = aten::mul(%a, %7)
  %69 : int[] = prim::ListConstruct(%65, %23)
  %26 : FloatTensor(requires_grad=0, device=cpu) = aten::reshape(%18, %69)
  %b : FloatTensor(requires_grad=0, device=cpu) = aten::relu(%26)
  %57 : int = aten::size(%x, %62)
  %35 : FloatTensor(requires_grad=0, device=cpu) = aten::add(%b, %62, %62)
  %40 : Float(*, *, requires_grad=0, device=cpu) = aten::slice(%x, %49, %38, %62, %62)
  %43 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%40, %62, %62)
  %67 : int[] = prim::ListConstruct(%62, %57, %62)
  %47 : Float(*, *, *, requires_grad=0, device=cpu) = aten::reshape(%43, %67)
  %48 : (Tensor, int[], Tensor) = prim::TupleConstruct(%35, %s, %47)
  return (%48)
