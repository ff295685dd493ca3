# run: compile
# Classes refer to themselves, and to classes and functions further down.
class Node:
    value: int
    next: Optional[Node]
    def __init__(self, value: int):
        self.value = value
        self.next = None
    def tree(self) -> Tree:
        return Tree(self)

class Tree:
    root: Node
    def __init__(self, root: Node):
        self.root = root
        self.n = helper(1)

def f(t: Tree) -> int:
    n = t.root.next
    if n is not None:
        return n.value + t.n
    return fact(3)

def helper(x: int):
    return x + 1

def fact(n: int) -> int:
    if n < 2:
        return 1
    return n * fact(n - 1)
# ---- expect
# f
graph(%t : Tree):
  %1 : Node = prim::GetAttr[name="root"](%t)
  %n.1 : Node? = prim::GetAttr[name="next"](%1)
  %3 : NoneType = prim::Constant()
  %4 : bool = aten::__isnot__(%n.1, %3)
  %12 : int = prim::If(%4)
    block0():
      %n : Node = prim::unchecked_cast(%n.1)
      %6 : int = prim::GetAttr[name="value"](%n)
      %7 : int = prim::GetAttr[name="n"](%t)
      %8 : int = aten::add(%6, %7)
      -> (%8)
    block1():
      %9 : int = prim::Constant[value=3]()
      %10 : Function = prim::Constant[name="fact"]()
      %11 : int = prim::CallFunction(%10, %9)
      -> (%11)
  return (%12)
# helper
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : int = aten::add(%x, %1)
  return (%2)
# fact
graph(%n : int):
  %1 : int = prim::Constant[value=2]()
  %2 : bool = aten::lt(%n, %1)
  %9 : int = prim::If(%2)
    block0():
      %3 : int = prim::Constant[value=1]()
      -> (%3)
    block1():
      %4 : int = prim::Constant[value=1]()
      %5 : int = aten::sub(%n, %4)
      %6 : Function = prim::Constant[name="fact"]()
      %7 : int = prim::CallFunction(%6, %5)
      %8 : int = aten::mul(%n, %7)
      -> (%8)
  return (%9)
# Node.__init__
graph(%self : Node,
      %value : int):
   = prim::SetAttr[name="value"](%self, %value)
  %2 : NoneType = prim::Constant()
   = prim::SetAttr[name="next"](%self, %2)
  %3 : NoneType = prim::Constant()
  return (%3)
# Node.tree
graph(%self : Node):
  %1 : Tree = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name="__init__"](%1, %self)
  return (%1)
# Tree.__init__
graph(%self : Tree,
      %root : Node):
   = prim::SetAttr[name="root"](%self, %root)
  %2 : int = prim::Constant[value=1]()
  %3 : Function = prim::Constant[name="helper"]()
  %4 : int = prim::CallFunction(%3, %2)
   = prim::SetAttr[name="n"](%self, %4)
  %5 : NoneType = prim::Constant()
  return (%5)
