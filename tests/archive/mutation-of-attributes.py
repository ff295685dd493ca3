# run: save
# buffer: count = torch.zeros([])
# attribute: seen: List[int] = []
def forward(self, x, n: int):
  self.count.add_(1)
  self.seen.append(n)
  self.total = self.total + n
  return x * self.count, len(self.seen), self.total
# attribute: total: int = 0
# call: torch.ones([2]), 3
# call: torch.ones([2]), 4
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = ["count", ]
  training : bool
  count : Tensor
  seen : List[int]
  total : int
  def forward(self: __torch__.M,
    x: Tensor,
    n: int) -> Tuple[Tensor, int, int]:
    _0 = torch.add_(self.count, 1)
    _1 = torch.append(self.seen, n)
    self.total = torch.add(self.total, n)
    return (torch.mul(x, self.count), torch.len(self.seen), self.total)
# others: data/0, data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
  buffer count : Tensor = Float[] on cpu
  attribute seen : List[int] = [3, 4]
  attribute total : int = 7
}

forward(torch.ones([2]), 3): (tensor([1.0, 1.0]), 1, 3)
forward(torch.ones([2]), 4): (tensor([2.0, 2.0]), 2, 7)
