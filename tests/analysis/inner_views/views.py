# run: inner-views
def used(x, w):
  y = x.t()
  z = y.unsqueeze(0)
  return torch.exp(z) + w
def returned(x):
  y = x.t()
  z = x.view(-1)
  return torch.exp(y), z[1:]
def in_a_list(x):
  a, b = x.chunk(2)
  return torch.cat([a.t(), b.t()])
def list_returned(x):
  parts = x.split(2)
  return parts, x.t() + 1
def carried(x, n: int):
  y = x.t()
  for i in range(n):
    y = y.t()
  return y + 1
def in_a_branch(x, c: bool):
  y = x.t()
  if c:
    z = y.unsqueeze(0) * 2
  else:
    z = x.view(-1) * 3
  return z
def branch_of_views(x, c: bool):
  y = x.t()
  if c:
    y = x.view(-1)
  return y * 2
def may_return_its_argument(x):
  return x.t().contiguous(), x.t().to(torch.float64).exp()
def written(x, w):
  y = x.t()
  x.add_(w)
  return y * 2
def view_is_written(x, w):
  y = x.t()
  y.add_(w)
  return x * 2
def stored(x, l: List[Tensor]):
  l.append(x.t())
  return x.t() * 2
def asks(x):
  y = x.t()
  return y.is_leaf, x.t().requires_grad, x.t().size(0)
def own_lists_are_written(x):
  sizes: List[int] = []
  sizes.append(x.t().size(0))
  return sizes
def calls(x):
  return used(x.t(), x), x.t() * 2
def strided(x):
  return torch.exp(x.t().as_strided([2], [1]))
def copy_of_a_list(x):
  return list(x.unbind(0)), [x.t()] + [x.t()]
def element(x):
  return x.unbind(0)[1], x.unbind(1)[0] + 1
# ---- expect
# used
%y = aten::t: inside
%z = aten::unsqueeze: inside
# returned
%y = aten::t: inside
%z = aten::view: seen outside
%10 = aten::slice.Tensor: seen outside
# in_a_list
%3 = aten::chunk: inside
%6 = aten::t: inside
%7 = aten::t: inside
# list_returned
%parts = aten::split.Tensor: seen outside
%4 = aten::t: inside
# carried
%y.1 = aten::t: seen outside
%y.3 = aten::t: seen outside
# in_a_branch
%y = aten::t: inside
%4 = aten::unsqueeze: inside
%9 = aten::view: inside
# branch_of_views
%y.1 = aten::t: seen outside
%y.2 = aten::view: seen outside
# may_return_its_argument
%1 = aten::t: seen outside
%3 = aten::contiguous: seen outside
%4 = aten::t: inside
# written
%y = aten::t: inside where no gradients are recorded
# view_is_written
%y = aten::t: inside where no gradients are recorded
# stored
%2 = aten::t: seen outside
%4 = aten::t: inside
# asks
%y = aten::t: seen outside
%3 = aten::t: seen outside
%5 = aten::t: inside
# own_lists_are_written
%2 = aten::t: inside
# calls
%1 = aten::t: seen outside
%4 = aten::t: inside where no gradients are recorded
# strided
%1 = aten::t: inside
# copy_of_a_list
%2 = aten::unbind.int: seen outside
%4 = aten::t: seen outside
%6 = aten::t: seen outside
# element
%2 = aten::unbind.int: seen outside
%6 = aten::unbind.int: inside
