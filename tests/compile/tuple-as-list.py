# run: compile
def f(a: Tuple[int, int]) -> List[int]:
  b: List[int] = a * 2
  b.append(3)
  return b + a
# ---- expect
