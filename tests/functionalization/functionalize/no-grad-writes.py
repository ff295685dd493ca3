# run: compile, functionalize, tidy-functional
# Operators of Cresset's own, that torch.nn.init calls.
def f(x):
  y = torch.empty_like(x)
  torch.nn.init.uniform_(y, 0., 1.)
  torch.nn.init.constant_(y[0], 2.)
  return y
# ---- expect
object has no attribute init: 'torch.nn' has no operator or function of that name; modules can't be made while a script runs
  File "no-grad-writes.py", line 5
def f(x):
  y = torch.empty_like(x)
  torch.nn.init.uniform_(y, 0., 1.)
  ~~~~~~~~~~~~~ <--- HERE
  torch.nn.init.constant_(y[0], 2.)
  return y
