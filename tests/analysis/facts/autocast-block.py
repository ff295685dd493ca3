# run: facts, inline
# Inside of it operators compute in other dtypes.
def f(x):
  with torch.autocast("cpu", dtype=torch.bfloat16):
    y = x @ x
  return y, x * 2
# call: f(torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%y: tensor(?, ?), requires no gradient
%11: tensor(?, ?), requires no gradient
