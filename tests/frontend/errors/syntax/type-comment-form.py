# run: tree
def f(a):
  # type: int -> int  # error: is written '# type: (int, Tensor) -> Tensor'
  pass
