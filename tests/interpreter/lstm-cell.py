# run: code
# Every tensor is moved at its last use; constants are operands.
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
LSTMCellS: 7 inputs, 7 registers
   0  r3 = aten::t(move r3)  # lstm-cell.py:4
   1  r3 = aten::mm(move r0, move r3)  # lstm-cell.py:4
   2  r4 = aten::t(move r4)  # lstm-cell.py:4
   3  r4 = aten::mm(move r1, move r4)  # lstm-cell.py:4
   4  r4 = aten::add.Tensor(move r3, move r4, 1)  # lstm-cell.py:4
   5  r5 = aten::add.Tensor(move r4, move r5, 1)  # lstm-cell.py:4
   6  r6 = aten::add.Tensor(move r5, move r6, 1)  # lstm-cell.py:4
   7  r6 = aten::chunk(move r6, 4, 1)  # lstm-cell.py:5
   8  r6, r5, r4, r3 = UnpackList(move r6)  # lstm-cell.py:5
   9  r6 = aten::sigmoid(move r6)  # lstm-cell.py:6
  10  r5 = aten::sigmoid(move r5)  # lstm-cell.py:7
  11  r4 = aten::tanh(move r4)  # lstm-cell.py:8
  12  r3 = aten::sigmoid(move r3)  # lstm-cell.py:9
  13  r2 = aten::mul.Tensor(move r5, move r2)  # lstm-cell.py:10
  14  r4 = aten::mul.Tensor(move r6, move r4)  # lstm-cell.py:10
  15  r4 = aten::add.Tensor(move r2, move r4, 1)  # lstm-cell.py:10
  16  r2 = aten::tanh(r4)  # lstm-cell.py:11
  17  r2 = aten::mul.Tensor(move r3, move r2)  # lstm-cell.py:11
  18  r4 = MakeTuple (Tensor, Tensor)(move r2, move r4)  # lstm-cell.py:12
  19  Return move r4  # lstm-cell.py:12
