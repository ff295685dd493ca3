# run: save
# attribute: name: str = "a \"quoted\" name\n"
# attribute: sizes: List[int] = [3, 1, 2]
# attribute: table: Dict[str, List[float]] = {"a": [0.5], "b": []}
# attribute: pair: Tuple[int, Optional[Tensor]] = (7, None)
# attribute: maybe: Optional[Tensor] = torch.ones([1])
# attribute: largest: float = float("inf")
def forward(self, key: str) -> List[float]:
  values = self.table[key] + [float(self.pair[0]), self.largest]
  if self.maybe is not None:
    values.append(float(self.sizes[0]))
  return values
# call: "a"
# call: "b"
# call: "no such key"
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  name : str
  sizes : List[int]
  table : Dict[str, List[float]]
  pair : Tuple[int, Optional[Tensor]]
  maybe : Optional[Tensor]
  largest : float
  def forward(self: __torch__.M,
    key: str) -> List[float]:
    values = torch.add((self.table)[key], [float((self.pair)[0]), self.largest])
    if torch.__isnot__(self.maybe, None):
      _0 = torch.append(values, float((self.sizes)[0]))
    else:
      pass
    return values
# others: data/0, data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
  attribute name : str = a "quoted" name

  attribute sizes : List[int] = [3, 1, 2]
  attribute table : Dict[str, List[float]] = {a: [0.5], b: []}
  attribute pair : Tuple[int, Optional[Tensor]] = (7, None)
  attribute maybe : Optional[Tensor] = Float[1] on cpu
  attribute largest : float = inf
}

forward("a"): [0.5, 7.0, inf, 3.0]
forward("b"): [7.0, inf, 3.0]
forward("no such key"): RuntimeError: KeyError: no such key
