# run: run
def f(n: int):
  out: List[int] = []
  for i in range(n):
    if i % 2 == 0:
      continue
    for j in range(i, n):
      if j > i + 1:
        break
      out.append(i * 10 + j)
    else_ = i
    if else_ == 5:
      break
  return out
# call: f(8)
# ---- expect
f(8) -> [11, 12, 33, 34, 55, 56]
