# run: save
# What is indexed stands in parentheses unless it is a name.
# attribute: rows: List[List[int]] = [[5, 6], [7, 8]]
def forward(self, xs: List[List[int]], key: str, table: Dict[str, int]) -> Tuple[int, int, int]:
  last = self.rows[1]
  return xs[1][0] + self.firsts(xs)[1], last[0], table[key]

def firsts(self, xs: List[List[int]]) -> List[int]:
  return xs[0]
# call: [[1, 2], [3]], "b", {"b": 9}
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  rows : List[List[int]]
  def forward(self: __torch__.M,
    xs: List[List[int]],
    key: str,
    table: Dict[str, int]) -> Tuple[int, int, int]:
    last = (self.rows)[1]
    return (torch.add((xs[1])[0], ((self).firsts(xs, ))[1]), last[0], table[key])
  def firsts(self: __torch__.M,
    xs: List[List[int]]) -> List[int]:
    return xs[0]
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
  attribute rows : List[List[int]] = [[5, 6], [7, 8]]
}

forward([[1, 2], [3]], "b", {"b": 9}): (5, 7, 9)
