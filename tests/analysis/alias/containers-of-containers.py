# run: alias
def f(x, d: Dict[str, List[Tensor]]):
  a = x * 2
  l = [a]
  d["k"] = l
  b = d["j"][0]
  b.zero_()
  return a
# ---- expect
# f
%x: outside(Tensor); written
%d: outside(Dict[str, List[Tensor]]); holds %a (escapes), %l (escapes), outside(List[Tensor]), outside(Tensor); written
%a: %a (escapes); written
%l: %l (escapes); holds %a (escapes), outside(Tensor)
aten::_set_item writes outside(Dict[str, List[Tensor]])
%8: %8, %l (escapes), outside(List[Tensor]); holds %a (escapes), outside(Tensor)
%b: %a (escapes), outside(Tensor); written
%11: %a (escapes), outside(Tensor); written
aten::zero_ writes %a (escapes), outside(Tensor)
