# run: run
def f(l: List[int], d: Dict[str, int]):
  a = l[2]
  b = d["k"]
  return 0
# call: f([1, 2, 3], {"k": 1})
# call: f([1], {"k": 1})
# call: f([1, 2, 3], {"j": 1})
# ---- expect
f([1, 2, 3], {"k": 1}) -> 0
f([1], {"k": 1}) raises IndexError: list index out of range
f([1, 2, 3], {"j": 1}) raises RuntimeError: KeyError: k
