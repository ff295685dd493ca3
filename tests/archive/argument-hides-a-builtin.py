# run: save
def forward(self, float: int, x):
  return self.half(x.item()), torch.zeros([float])

def half(self, number: float):
  return number / 2
# call: 2, torch.ones([])
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    float: int,
    x: Tensor) -> Tuple[float, Tensor]:
    return ((self).half(torch.Float(torch.item(x)), ), torch.zeros([float]))
  def half(self: __torch__.M,
    number: float) -> float:
    return torch.div(number, 2)
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(2, torch.ones([])): (0.5, tensor([0.0, 0.0]))
