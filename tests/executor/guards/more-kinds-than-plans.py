# run: guards
# Sixteen at a time; the seventeenth kind runs unoptimized.
def f(x: int, a: bool, b: bool, c: bool, d: bool, e: bool):
  return x
# call: f(1, True, True, True, True, True)
# call: f(1, True, True, True, True, False)
# call: f(1, True, True, True, False, True)
# call: f(1, True, True, True, False, False)
# call: f(1, True, True, False, True, True)
# call: f(1, True, True, False, True, False)
# call: f(1, True, True, False, False, True)
# call: f(1, True, True, False, False, False)
# call: f(1, True, False, True, True, True)
# call: f(1, True, False, True, True, False)
# call: f(1, True, False, True, False, True)
# call: f(1, True, False, True, False, False)
# call: f(1, True, False, False, True, True)
# call: f(1, True, False, False, True, False)
# call: f(1, True, False, False, False, True)
# call: f(1, True, False, False, False, False)
# call: f(1, False, True, True, True, True)
# ---- expect
# f: there are 16 plans; calls of other kinds run the unoptimized program, and one in 32 of them has a plan in place of the one longest unused
plan: gradients on
  input a: True
  input b: True
  input c: True
  input d: True
  input e: True
plan: gradients on
  input a: True
  input b: True
  input c: True
  input d: True
  input e: False
plan: gradients on
  input a: True
  input b: True
  input c: True
  input d: False
  input e: True
plan: gradients on
  input a: True
  input b: True
  input c: True
  input d: False
  input e: False
plan: gradients on
  input a: True
  input b: True
  input c: False
  input d: True
  input e: True
plan: gradients on
  input a: True
  input b: True
  input c: False
  input d: True
  input e: False
plan: gradients on
  input a: True
  input b: True
  input c: False
  input d: False
  input e: True
plan: gradients on
  input a: True
  input b: True
  input c: False
  input d: False
  input e: False
plan: gradients on
  input a: True
  input b: False
  input c: True
  input d: True
  input e: True
plan: gradients on
  input a: True
  input b: False
  input c: True
  input d: True
  input e: False
plan: gradients on
  input a: True
  input b: False
  input c: True
  input d: False
  input e: True
plan: gradients on
  input a: True
  input b: False
  input c: True
  input d: False
  input e: False
plan: gradients on
  input a: True
  input b: False
  input c: False
  input d: True
  input e: True
plan: gradients on
  input a: True
  input b: False
  input c: False
  input d: True
  input e: False
plan: gradients on
  input a: True
  input b: False
  input c: False
  input d: False
  input e: True
plan: gradients on
  input a: True
  input b: False
  input c: False
  input d: False
  input e: False
without a plan, 1: more kinds of arguments than there may be plans
