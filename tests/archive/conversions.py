# run: save
def forward(self, x, flag: bool):
  size: int = int(x)
  number = float(size) + float(flag)
  half: float = float(x) / 2
  return str(size), number, half, bool(x), [torch.zeros([size]), torch.full([1], number)]
# call: torch.tensor(3), True
# call: torch.tensor(0), False
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Tensor,
    flag: bool) -> Tuple[str, float, float, bool, List[Tensor]]:
    size = int(x)
    number = torch.add(float(size), float(flag))
    half = torch.div(float(x), 2)
    return (str(size), number, half, bool(x), [torch.zeros([size]), torch.full([1], number)])
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(torch.tensor(3), True): ('3', 4.0, 1.5, True, [tensor([0.0, 0.0, 0.0]), tensor([4.0])])
forward(torch.tensor(0), False): ('0', 0.0, 0.0, False, [tensor([]), tensor([0.0])])
