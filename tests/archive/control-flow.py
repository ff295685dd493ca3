# run: save
def forward(self, x, n: int):
  for i in range(n):
    if i == 2:
      continue
    if bool(x.sum() > 10):
      return x
    x = x + i
  while n > 0:
    n -= 1
    x = x * 2
  return x
# call: torch.ones([2]), 4
# call: torch.ones([2]) * 5, 4
# call: torch.ones([2]), 0
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Tensor,
    n: int) -> Tensor:
    _0 = uninitialized(Tensor)
    x0 = x
    _1 = True
    _2 = _0
    for i in range(n):
      if torch.eq(i, 2):
        _5 = uninitialized(Tensor)
        x1 = x0
        _3 = True
        _4 = _5
      else:
        if bool(torch.gt(torch.sum(x0), 10)):
          _8 = uninitialized(Tensor)
          x2 = _8
          _6 = False
          _7 = x0
        else:
          x3 = torch.add(x0, i)
          _9 = uninitialized(Tensor)
          x2 = x3
          _6 = True
          _7 = _9
        x1 = x2
        _3 = _6
        _4 = _7
      x0 = x1
      _1 = _3
      _2 = _4
      if _3:
        pass
      else:
        break
    if _1:
      n0 = n
      x4 = x0
      _11 = torch.gt(n, 0)
      while _11:
        n1 = torch.sub(n0, 1)
        x5 = torch.mul(x4, 2)
        _11 = torch.gt(n1, 0)
        n0 = n1
        x4 = x5
      _10 = x4
    else:
      _10 = _2
    return _10
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(torch.ones([2]), 4): tensor([80.0, 80.0])
forward(torch.ones([2]) * 5, 4): tensor([6.0, 6.0])
forward(torch.ones([2]), 0): tensor([1.0, 1.0])
