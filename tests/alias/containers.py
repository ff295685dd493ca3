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
