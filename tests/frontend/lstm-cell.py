# run: compile, pool-constants
def LSTMCellS(x, hx, cx, w_ih, w_hh, b_ih, b_hh):
    gates = x.mm(w_ih.t()) + hx.mm(w_hh.t()) + b_ih + b_hh
    ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
    ingate = torch.sigmoid(ingate)
    forgetgate = torch.sigmoid(forgetgate)
    cellgate = torch.tanh(cellgate)
    outgate = torch.sigmoid(outgate)
    cy = (forgetgate * cx) + (ingate * cellgate)
    hy = outgate * torch.tanh(cy)
    return hy, cy
# ---- expect
graph(%x : Tensor,
      %hx : Tensor,
      %cx : Tensor,
      %w_ih : Tensor,
      %w_hh : Tensor,
      %b_ih : Tensor,
      %b_hh : Tensor):
  %17 : int = prim::Constant[value=4]()
  %11 : int = prim::Constant[value=1]()
  %7 : Tensor = aten::t(%w_ih)
  %8 : Tensor = aten::mm(%x, %7)
  %9 : Tensor = aten::t(%w_hh)
  %10 : Tensor = aten::mm(%hx, %9)
  %12 : Tensor = aten::add(%8, %10, %11)
  %14 : Tensor = aten::add(%12, %b_ih, %11)
  %gates : Tensor = aten::add(%14, %b_hh, %11)
  %19 : Tensor[] = aten::chunk(%gates, %17, %11)
  %ingate.1 : Tensor, %forgetgate.1 : Tensor, %cellgate.1 : Tensor, %outgate.1 : Tensor = prim::ListUnpack(%19)
  %ingate : Tensor = aten::sigmoid(%ingate.1)
  %forgetgate : Tensor = aten::sigmoid(%forgetgate.1)
  %cellgate : Tensor = aten::tanh(%cellgate.1)
  %outgate : Tensor = aten::sigmoid(%outgate.1)
  %28 : Tensor = aten::mul(%forgetgate, %cx)
  %29 : Tensor = aten::mul(%ingate, %cellgate)
  %cy : Tensor = aten::add(%28, %29, %11)
  %32 : Tensor = aten::tanh(%cy)
  %hy : Tensor = aten::mul(%outgate, %32)
  %34 : (Tensor, Tensor) = prim::TupleConstruct(%hy, %cy)
  return (%34)
