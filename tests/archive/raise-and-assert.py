# run: save
def forward(self, n: int):
  assert n >= 0, f"negative: {n}"
  if n > 2:
    raise ValueError("too large")
  print("n is", n)
  return n
# call: 1
# call: -1
# call: 3
# ---- expect
# code/__torch__.py
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    n: int) -> int:
    if torch.ge(n, 0):
      pass
    else:
      ops.prim.RaiseException(torch.add("AssertionError: ", torch.format("negative: {}", n)))
    if torch.gt(n, 2):
      ops.prim.RaiseException("too large", "builtins.ValueError")
    else:
      pass
    print("n is", n)
    return n
# others: data.pkl, code/__torch__.py.debug_pkl, constants.pkl, version, byteorder, .data/serialization_id
# loaded
module __torch__.M {
  attribute training : bool = False
}

forward(1): 1
forward(-1): RuntimeError: AssertionError: negative: -1
forward(3): ValueError: too large
