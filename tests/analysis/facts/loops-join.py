# run: facts
# What is carried has the facts that hold before the first iteration and after each.
def f(x, n: int):
  a = x
  b = x
  c = x
  for i in range(n):
    a = a + 1
    b = b / 2
    c = c.unsqueeze(0)
  return a, b, c
# call: f(torch.arange(3), 2)
# ---- expect
# f(torch.arange(3), 2)
%x: Long(%x.size(0)) on cpu, requires no gradient
  %a.1: Long(%x.size(0)) on cpu, requires no gradient
  %b.1: ?(%x.size(0)) on cpu, requires no gradient
  %c.1: Long of unknown rank on cpu, requires no gradient
  %a.2: Long(%x.size(0)) on cpu, dense, new, requires no gradient
  %b.2: ?(%x.size(0)) on cpu, dense, new, requires no gradient
  %c.2: Long of unknown rank on cpu, requires no gradient
%a: Long(%x.size(0)) on cpu, requires no gradient
%b: ?(%x.size(0)) on cpu, requires no gradient
%c: Long of unknown rank on cpu, requires no gradient
known of 10 tensors: dtype 7, rank 7, device 10, requires_grad 10, contiguity 2, strides 0, new 2
