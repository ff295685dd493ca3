# run: compile, batch-mm
# Eight products of one matrix; the ninth multiplies one of them.
def f(a, b, c):
    p = [torch.mm(a, b), torch.mm(a, c), torch.mm(a, b), torch.mm(a, c), torch.mm(a, b), torch.mm(a, c), torch.mm(a, b)]
    q = torch.mm(a, c)
    return p, torch.mm(a, q)
# ---- expect
graph(%a : Tensor,
      %b : Tensor,
      %c : Tensor):
  %14 : bool = prim::Constant[value=1]()
  %15 : Tensor[] = prim::MMBatchSide(%a, %14, %b, %c, %b, %c, %b, %c, %b, %c)
  %16 : Tensor, %17 : Tensor, %18 : Tensor, %19 : Tensor, %20 : Tensor, %21 : Tensor, %22 : Tensor, %q : Tensor = prim::ListUnpack(%15)
  %p : Tensor[] = prim::ListConstruct(%16, %17, %18, %19, %20, %21, %22)
  %12 : Tensor = aten::mm(%a, %q)
  %13 : (Tensor[], Tensor) = prim::TupleConstruct(%p, %12)
  return (%13)
