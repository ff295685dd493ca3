# run: save
def forward(self, x, dim: int = -1, keep: bool = False, scale: float = 1.5, names: Optional[List[str]] = None):
  if names is not None:
    return torch.sum(x, [len(names)])
  return torch.sum(x, [dim], keepdim=keep) * scale
# call: torch.ones([2, 3])
# call: torch.ones([2, 3]), 0, True, 2.0, None
# call: torch.ones([2, 3]), 0, True, 2.0, ["a"]
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Tensor,
    dim: int=-1,
    keep: bool=False,
    scale: float=1.5,
    names: Optional[List[str]]=None) -> Tensor:
    if torch.__isnot__(names, None):
      names0 = unchecked_cast(List[str], names)
      _0 = torch.sum(x, [torch.len(names0)])
    else:
      _0 = torch.mul(torch.sum(x, [dim], keep), scale)
    return _0
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(torch.ones([2, 3])): tensor([4.5, 4.5])
forward(torch.ones([2, 3]), 0, True, 2.0, None): tensor([[4.0, 4.0, 4.0]])
forward(torch.ones([2, 3]), 0, True, 2.0, ["a"]): tensor([3.0, 3.0])
