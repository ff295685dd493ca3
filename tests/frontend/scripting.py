# run: compile
def f(x: int):
  if torch.jit.is_scripting():
    return x
  return x.unknown
# ---- expect
graph(%x : int):
  return (%x)
