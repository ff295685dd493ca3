# run: gradient
# A weight that the graph computes doesn't say that it requires a gradient, by which eager PyTorch decides how it multiplies.
def f(x, w, b):
  return torch.linear(x.transpose(0, 1), w * 2, b).tanh()
# let: w, b = torch.ones(2, 4).requires_grad_(), torch.ones(2).requires_grad_()
# call: f(torch.randn(3, 2, 4), w, b)
# call: f(torch.randn(3, 2, 4), w, b)
# ---- expect
# f(torch.randn(3, 2, 4), w, b)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %23 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %24 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.21 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.21, %11)
  %flat : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat, %3)
  %25 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes)
  %26 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%4, %5)
  %20 : int = aten::size(%4, %7)
  %21 : int = aten::size(%0, %5)
  %22 : int[] = prim::ListConstruct(%19, %20, %21)
  return (%18, %22)
# keeps %flat, %23, %24, %25, %26
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.19 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.19, %11)
  %flat.8 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.8 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.8, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.8)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.8, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.17 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.17, %11)
  %flat.7 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.7 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.7, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.7)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.7, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.15 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.15, %11)
  %flat.6 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.6 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.6, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.6)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.6, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.13 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.13, %11)
  %flat.5 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.5 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.5, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.5)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.5, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.11 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.11, %11)
  %flat.4 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.4 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.4, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.4)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.4, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.9 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.9, %11)
  %flat.3 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.3 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.3, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.3)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.3, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.8 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.8, %11)
  %flat.2 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.2 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.2, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.2)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.2, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# f(torch.randn(3, 2, 4), w, b)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %23 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %24 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.21 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.21, %11)
  %flat : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat, %3)
  %25 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes)
  %26 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%4, %5)
  %20 : int = aten::size(%4, %7)
  %21 : int = aten::size(%0, %5)
  %22 : int[] = prim::ListConstruct(%19, %20, %21)
  return (%18, %22)
# keeps %flat, %23, %24, %25, %26
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.19 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.19, %11)
  %flat.8 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.8 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.8, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.8)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.8, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.17 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.17, %11)
  %flat.7 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.7 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.7, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.7)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.7, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.15 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.15, %11)
  %flat.6 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.6 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.6, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.6)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.6, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.13 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.13, %11)
  %flat.5 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.5 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.5, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.5)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.5, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.11 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.11, %11)
  %flat.4 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.4 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.4, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.4)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.4, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.9 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.9, %11)
  %flat.3 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.3 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.3, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.3)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.3, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
# forward
graph(%0 : Float(*, *, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, device=cpu),
      %4 : Float(*, *, *, requires_grad=0, device=cpu)):
  %21 : int[] = aten::size(%1)
  %3 : Float(*, *, device=cpu) = aten::t(%2)
  %22 : bool = cresset::is_column_major(%3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = aten::size(%4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = aten::size(%4, %7)
  %rows.8 : int = aten::mul(%6, %8)
  %10 : int = prim::Constant[value=-1]()
  %11 : int = aten::size(%4, %10)
  %12 : int[] = prim::ListConstruct(%rows.8, %11)
  %flat.2 : Float(*, *, requires_grad=0, device=cpu) = aten::reshape(%4, %12)
  %14 : int = aten::size(%3, %7)
  %sizes.2 : int[] = prim::ListConstruct(%6, %8, %14)
  %16 : Float(*, *, device=cpu) = aten::mm(%flat.2, %3)
  %23 : int[] = aten::size(%16)
  %17 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%16, %sizes.2)
  %24 : int[] = aten::size(%17)
  %18 : Float(*, *, *, device=cpu) = aten::add(%17, %1, %7)
  %19 : int = aten::size(%0, %5)
  %20 : int[] = prim::ListConstruct(%6, %8, %19)
  return (%18, %20)
# keeps %flat.2, %21, %22, %23, %24
# backward, of %18 with respect to %1, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=0, device=cpu),
      %22 : int[],
      %23 : bool,
      %24 : int[],
      %25 : int[]):
  %3 : Tensor(*, *, *) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %9 : Tensor(*, *) = aten::reshape(%3, %24)
  %12 : Tensor = aten::t(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %9, %23)
  %15 : Tensor(*, *) = aten::t(%14)
  %16 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%6, %15)
  return (%16)
