# run: save
# parameter: weight = torch.ones([2])
def forward(self, x):
  return self.first(x) * self.weight + self.second(x, 3)
# module: first
# attribute: times: int = 2
def forward(self, x):
  return x * self.times
# module: second
def forward(self, x, n: int):
  for i in range(n):
    x = x + i
  return x
# call: torch.ones([2])
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  training : bool
  weight : Tensor
  first : __torch__.First
  second : __torch__.Second
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.add(torch.mul((self.first).forward(x, ), self.weight), (self.second).forward(x, 3, ))
class First(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  times : int
  def forward(self: __torch__.First,
    x: Tensor) -> Tensor:
    return torch.mul(x, self.times)
class Second(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Second,
    x: Tensor,
    n: int) -> Tensor:
    x0 = x
    for i in range(n):
      x0 = torch.add(x0, i)
    return x0
# others: data/0, data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
  parameter weight : Tensor = Float[2] on cpu
  submodule first
    module __torch__.First {
      attribute training : bool = False
      attribute times : int = 2
    }
  submodule second
    module __torch__.Second {
      attribute training : bool = False
    }
}

forward(torch.ones([2])): tensor([6.0, 6.0])
