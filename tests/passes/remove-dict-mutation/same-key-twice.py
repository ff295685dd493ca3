# run: compile, remove-dict-mutation, constant-propagation, dce
def f(n: int):
  d = {"a": n}
  d["b"] = 2
  d["a"] = 3
  return d["a"], d["b"], len(d), d
# ---- expect
graph(%n : int):
  %1 : str = prim::Constant[value="a"]()
  %3 : int = prim::Constant[value=2]()
  %4 : str = prim::Constant[value="b"]()
  %6 : int = prim::Constant[value=3]()
  %d : Dict(str, int) = prim::DictConstruct(%1, %6, %4, %3)
  %15 : int = prim::Constant[value=2]()
  %14 : (int, int, int, Dict(str, int)) = prim::TupleConstruct(%6, %3, %15, %d)
  return (%14)
