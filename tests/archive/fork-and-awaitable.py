# run: save
def forward(self, x):
  apart = torch.jit.fork(self.double, x)
  later = torch.jit._awaitable(self.double, x + 1)
  return torch.jit.wait(apart) + torch.jit._awaitable_wait(later)

def double(self, x):
  return x * 2
# call: torch.ones([2])
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    def __forked_function():
      return (self).double(x, )
    apart = fork(__forked_function)
    _0 = torch.add(x, 1)
    def __awaitable_function():
      return (self).double(_0, )
    later = awaitable(__awaitable_function)
    return torch.add(torch.wait(apart), ops.prim.awaitable_wait(later))
  def double(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.mul(x, 2)
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(torch.ones([2])): tensor([6.0, 6.0])
