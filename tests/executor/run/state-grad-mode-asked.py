# run: run
def f(x):
  a = torch.is_grad_enabled()
  with torch.no_grad():
    b = torch.is_grad_enabled()
    with torch.enable_grad():
      c = torch.is_grad_enabled()
  return a, b, c, torch.is_grad_enabled()
# call: f(torch.ones(1))
# ---- expect
f(torch.ones(1)) -> (True, False, True, True)
