# run: compile, remove-dict-mutation, dce
def f(n: int):
  d = {"a": n}
  x = d["b"]
  return d["a"]
# ---- expect
graph(%n : int):
  %1 : str = prim::Constant[value="a"]()
  %d : Dict(str, int) = prim::DictConstruct(%1, %n)
  %3 : str = prim::Constant[value="b"]()
  %x : int = aten::__getitem__(%d, %3)
  return (%n)
