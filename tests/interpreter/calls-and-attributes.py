# run: code
class C:
  def __init__(self, x: int):
    self.x = x
  def add(self, y: int) -> int:
    return self.x + y

def g(x: int): return C(x)
def f(x: int):
  return g(x).add(2)
# ---- expect
g: 1 inputs, 2 registers
  0  r1 = CreateObject(C)  # calls-and-attributes.py:8
  1  _ = CallFunction C.__init__(r1, move r0)  # calls-and-attributes.py:8
  2  Return move r1  # calls-and-attributes.py:8
f: 1 inputs, 1 registers
  0  r0 = CallFunction g(move r0)  # calls-and-attributes.py:10
  1  r0 = CallFunction C.add(move r0, 2)  # calls-and-attributes.py:10
  2  Return move r0  # calls-and-attributes.py:10
C.__init__: 2 inputs, 2 registers
  0  SetSlot C.x(move r0, move r1)  # calls-and-attributes.py:4
  1  Return None  # calls-and-attributes.py:3
C.add: 2 inputs, 3 registers
  0  r2 = GetSlot(r0, C.x)  # calls-and-attributes.py:6
  1  Drop r0  # calls-and-attributes.py:6
  2  r1 = aten::add.int(r2, r1)  # calls-and-attributes.py:6
  3  Return move r1  # calls-and-attributes.py:6
