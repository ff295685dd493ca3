# run: alias
# The schema of batch_norm does not say that it updates statistics in training; the table does.
def f(x, m, v, training: bool):
  a = torch.batch_norm(x, None, None, m, v, True, 0.1, 1e-5, False)
  b = torch.batch_norm(x, None, None, m, v, False, 0.1, 1e-5, False)
  c = torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
  d = torch.instance_norm(x, None, None, m, v, training, 0.1, 1e-5, False)
  return a, b, c, d
# ---- expect
# f
%x: outside(Tensor)
%m: outside(Tensor)
%v: outside(Tensor)
%a: %a
aten::batch_norm writes outside(Tensor)
%b: %b
%c: %c
%d: %d
aten::instance_norm writes outside(Tensor)
%33: %33; holds %a, %b, %c, %d
