# run: run
def f(s: str, i: int):
  return s[i:], s[:-1], s[::-1] if i == 0 else s, s.find("b", i), s.split(",")
# call: f("a,b,c", 0)
# call: f("a,b,c", 3)
# call: f("", 0)
# ---- expect
f("a,b,c", 0) -> ('a,b,c', 'a,b,', 'c,b,a', 2, ['a', 'b', 'c'])
f("a,b,c", 3) -> (',c', 'a,b,', 'a,b,c', -1, ['a', 'b', 'c'])
f("", 0) -> ('', '', '', -1, [''])
