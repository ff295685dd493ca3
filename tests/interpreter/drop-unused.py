# run: code
# A result that nobody reads is not kept.
def f(x):
  y = x.relu_()
  x.sigmoid_()
  return x
# ---- expect
f: 1 inputs, 1 registers
  0  _ = aten::relu_(r0)  # drop-unused.py:4
  1  _ = aten::sigmoid_(r0)  # drop-unused.py:5
  2  Return move r0  # drop-unused.py:5
