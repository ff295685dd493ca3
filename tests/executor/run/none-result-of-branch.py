# run: run
def f(x, c: bool) -> Optional[Tensor]:
  y: Optional[Tensor] = None
  if c:
    y = x + 1
  return y
# call: f(torch.ones(2), True)
# call: f(torch.ones(2), False)
# ---- expect
f(torch.ones(2), True) -> tensor([2.0, 2.0])
f(torch.ones(2), False) -> None
