# run: compile, remove-dict-mutation
# A dict that another one holds is filled where the program fills it.
def f(x: Tensor):
    d: Dict[str, Dict[str, Tensor]] = {}
    e: Dict[str, Tensor] = {}
    d["e"] = e
    e["k"] = x
    return d
# ---- expect
graph(%x : Tensor):
  %e : Dict(str, Tensor) = prim::DictConstruct()
  %3 : str = prim::Constant[value="e"]()
  %d : Dict(str, Dict(str, Tensor)) = prim::DictConstruct(%3, %e)
  %5 : str = prim::Constant[value="k"]()
   = aten::_set_item(%e, %5, %x)
  return (%d)
