# run: code
from typing import Dict
def f(d: Dict[str, int], by_number: Dict[float, int]):
  return len(d) + len(by_number)
# ---- expect
f: 2 inputs, 3 registers
  0  r2 = DictLen(r0)  # dict-length.py:4
  1  Drop r0  # dict-length.py:4
  2  r1 = aten::len.Dict_float(move r1)  # dict-length.py:4
  3  r1 = aten::add.int(r2, r1)  # dict-length.py:4
  4  Return move r1  # dict-length.py:4
