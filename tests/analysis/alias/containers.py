# run: alias, inline
def lists(x: Tensor):
  a = x + 1
  b = x + 2
  l = [a]
  l.append(b)
  c = l[0]
  c.add_(1)
  d = x + 3
  m = [d]
  return d + 1

def dicts(x: Tensor, key: str):
  a = x + 1
  d = {key: a}
  e = x * 2
  d["e"] = e
  v = list(d.values())
  return v[0].sum()

def tuples(x: Tensor):
  a = x + 1
  b = x + 2
  t = (a, (b, 1))
  u, v = t
  w = v[0]
  w.mul_(2)
  return u.sum()

def nested(x: Tensor):
  inner = [x + 1]
  outer = [inner]
  outer[0].append(x + 2)
  copied = list(inner)
  copied.append(x + 3)
  return len(copied)

def kept(x: Tensor, l: List[Tensor]):
  a = x + 1
  b = x + 2
  l.append(a)
  c = l[0]
  c.mul_(2)
  return b
# ---- expect
# lists
%x: outside(Tensor)
%a: %a; written
%b: %b; written
%l: %l; holds %a, %b; written
%8: %l; holds %a, %b; written
aten::append writes %l
%c: %a, %b; written
%13: %a, %b; written
aten::add_ writes %a, %b
%d: %d
%20: %20
# dicts
%x: outside(Tensor)
%a: %a
%d: %d; holds %a, %e; written
%e: %e
aten::_set_item writes %d
%10: %10; holds %a, %e
%v: %v; holds %a, %e
%13: %a, %e
%15: %15
# tuples
%x: outside(Tensor)
%a: %a
%b: %b; written
%8: %8; holds %b
%t: %t; holds %8, %a, %b
%u: %a
%v: %8; holds %b
%w: %b; written
%15: %b; written
aten::mul_ writes %b
%17: %17
# nested
%x: outside(Tensor)
%3: %3
%inner: %inner; holds %10, %3; written
%outer: %outer; holds %10, %3, %inner
%7: %7, %inner; holds %10, %3; written
%10: %10
%11: %7, %inner; holds %10, %3; written
aten::append writes %7, %inner
%copied: %copied; holds %10, %15, %3; written
%15: %15
%16: %copied; holds %10, %15, %3; written
aten::append writes %copied
# kept
%x: outside(Tensor); written
%l: outside(List[Tensor]); holds %a (escapes), outside(Tensor); written
%a: %a (escapes); written
%b: %b
%8: outside(List[Tensor]); holds %a (escapes), outside(Tensor); written
aten::append writes outside(List[Tensor])
%c: %a (escapes), outside(Tensor); written
%12: %a (escapes), outside(Tensor); written
aten::mul_ writes %a (escapes), outside(Tensor)
