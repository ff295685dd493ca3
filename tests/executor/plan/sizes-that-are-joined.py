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
  %20 : NoneType = prim::Constant()
  %19 : int = prim::Constant[value=-1]()
  %57 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=4]()
  %7 : int = prim::Constant[value=2]()
  %49 : int = prim::Constant[value=0]()
  %50 : int = aten::size(%x, %49)
  %2 : int[] = aten::size(%x)
  %54 : int[] = prim::ListConstruct(%50, %7, %8)
  %a : Float(*, *, *, requires_grad=0, device=cpu) = aten::reshape(%x, %54)
  %58 : int = aten::size(%a, %57)
  %60 : int = aten::size(%a, %7)
  %s : int[] = prim::ListConstruct(%58, %60)
  %18 : Float(*, *, *, requires_grad=0, device=cpu) = aten::mul(%a, %7)
  %22 : int[] = aten::slice(%s, %19, %20, %57)
  %24 : int[] = prim::ListConstruct(%19)
  %25 : int[] = aten::add(%22, %24)
  %26 : FloatTensor(requires_grad=0, device=cpu) = aten::reshape(%18, %25)
  %b : FloatTensor(requires_grad=0, device=cpu) = aten::relu(%26)
  %t : int[] = aten::list(%2)
  %32 : int[] = aten::_set_item(%t, %49, %57)
  %35 : FloatTensor(requires_grad=0, device=cpu) = aten::add(%b, %57, %57)
  %40 : Float(*, *, requires_grad=0, device=cpu) = aten::slice(%x, %49, %20, %57, %57)
  %43 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%40, %57, %57)
  %45 : int[] = prim::ListConstruct(%57)
  %46 : int[] = aten::add(%t, %45)
  %47 : FloatTensor(requires_grad=0, device=cpu) = aten::reshape(%43, %46)
  %48 : (Tensor, int[], Tensor) = prim::TupleConstruct(%35, %s, %47)
  return (%48)
