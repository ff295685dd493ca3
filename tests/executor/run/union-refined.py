# run: run
def f(x: Union[int, Tensor, str]):
  if isinstance(x, int):
    return x + 1
  elif isinstance(x, str):
    return len(x)
  return x.dim()
# call: f(3)
# call: f("abc")
# call: f(torch.ones(2, 2))
# ---- expect
f(3) -> 4
f("abc") -> 3
f(torch.ones(2, 2)) -> 2
