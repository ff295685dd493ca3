# run: code
def f(x, k: str):
  d = {k: x}
  t = (x, [1, 2], d)
  a, b, c = t
  return c[k], b[1], t[0]
# ---- expect
f: 2 inputs, 5 registers
   0  r2 = MakeDict Dict(str, Tensor)(r1, r0)  # containers.py:3
   1  r3 = MakeList int[](1, 2)  # containers.py:4
   2  r2 = MakeTuple(move r0, move r3, move r2)  # containers.py:4
   3  _, r3, r0 = UnpackTuple(r2)  # containers.py:5
   4  r4 = DictGet(r0, r1)  # containers.py:6
   5  Drop r0  # containers.py:6
   6  Drop r1  # containers.py:6
   7  r1 = ListGet(r3, 1)  # containers.py:6
   8  Drop r3  # containers.py:6
   9  r3 = TupleGet(r2, 0)  # containers.py:6
  10  Drop r2  # containers.py:6
  11  r3 = MakeTuple (Tensor, int, Tensor)(move r4, move r1, move r3)  # containers.py:6
  12  Return move r3  # containers.py:6
