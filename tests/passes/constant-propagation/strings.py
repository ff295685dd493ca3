# run: compile, constant-propagation, dce
def f():
  s = "a" + "bbb"
  return s, len(s), s[1], s.upper(), "{}-{}".format(1, s), s == "abbb", "x" in s
# ---- expect
graph():
  %s : str = prim::Constant[value="abbb"]()
  %20 : int = prim::Constant[value=4]()
  %21 : str = prim::Constant[value="b"]()
  %22 : str = prim::Constant[value="ABBB"]()
  %23 : str = prim::Constant[value="1-abbb"]()
  %24 : bool = prim::Constant[value=1]()
  %27 : bool = prim::Constant[value=0]()
  %18 : (str, int, str, str, str, bool, bool) = prim::TupleConstruct(%s, %20, %21, %22, %23, %24, %27)
  return (%18)
