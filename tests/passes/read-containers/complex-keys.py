# run: compile, read-containers
# Keys that are complex numbers are not read.
def f(x):
    d = {1j: x}
    return x * d[1j]
# ---- expect
graph(%x : Tensor):
  %1 : complex = prim::Constant[value=0.+1.j]()
  %d : Dict(complex, Tensor) = prim::DictConstruct(%1, %x)
  %3 : complex = prim::Constant[value=0.+1.j]()
  %4 : Tensor = aten::__getitem__(%d, %3)
  %5 : Tensor = aten::mul(%x, %4)
  return (%5)
