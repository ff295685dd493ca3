# run: save
# parameter: weight = torch.arange(4.).view(2, 2)
# buffer: mean = torch.ones([2])
def forward(self, x):
  return torch.mm(x, self.weight) - self.mean
# call: torch.ones([1, 2])
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["mean", ]
  training : bool
  weight : Tensor
  mean : Tensor
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.sub(torch.mm(x, self.weight), self.mean)
# others: data/0, data/1, data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
  parameter weight : Tensor = Float[2, 2] on cpu
  buffer mean : Tensor = Float[2] on cpu
}

forward(torch.ones([1, 2])): tensor([[1.0, 3.0]])
