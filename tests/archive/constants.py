# run: save
def forward(self, x: Optional[Tensor]):
  a: List[int] = []
  b: Dict[str, Tensor] = {}
  if x is None:
    return a, b, float("nan"), -9223372036854775807 - 1, 1e-45, "é\0\"", None
  b["x"] = x
  return [1, 2], b, float("-inf"), 0, 0.1, "'", None
# call: None
# call: torch.ones([1])
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Optional[Tensor]) -> Tuple[List[int], Dict[str, Tensor], float, int, float, str, NoneType]:
    a = annotate(List[int], [])
    b = annotate(Dict[str, Tensor], {})
    if torch.__is__(x, None):
      _0 = (a, b, float("nan"), torch.sub(-9223372036854775807, 1), 1e-45, "é\000\"", None)
    else:
      x0 = unchecked_cast(Tensor, x)
      torch._set_item(b, "x", x0)
      _0 = ([1, 2], b, float("-inf"), 0, 0.1, "\'", None)
    return _0
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(None): ([], {}, nan, -9223372036854775808, 1e-45, 'é\x00"', None)
forward(torch.ones([1])): ([1, 2], {'x': tensor([1.0])}, -inf, 0, 0.1, "'", None)
