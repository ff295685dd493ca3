# run: run
def f(l: List[int]):
  s = torch.Size(l)
  l.append(3)
  return s, l
# call: f([1, 2])
# ---- expect
f([1, 2]) -> ([1, 2, 3], [1, 2, 3])
  l becomes [1, 2, 3]
