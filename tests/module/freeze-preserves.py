# run: freeze
# attribute: scale: float = 2.0
# attribute: shift: float = 1.0
# preserve: scale
# preserve: twice
def forward(self, x):
  return x * self.scale + self.shift

def twice(self, x):
  return self.forward(self.forward(x))

def unused(self, x):
  return x
# call: torch.ones([2])
# ---- expect
module __torch__.___torch_mangle_0.M {
  attribute scale : float = 2.
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x : Tensor):
  %5 : int = prim::Constant[value=1]()
  %7 : float = prim::Constant[value=1.]()
  %2 : float = prim::GetAttr[name="scale"](%self)
  %3 : Tensor = aten::mul(%x, %2)
  %6 : Tensor = aten::add(%3, %7, %5)
  return (%6)
# twice
graph(%self : __torch__.___torch_mangle_0.M,
      %x : Tensor):
  %7 : int = prim::Constant[value=1]()
  %14 : float = prim::Constant[value=1.]()
  %4 : float = prim::GetAttr[name="scale"](%self)
  %5 : Tensor = aten::mul(%x, %4)
  %8 : Tensor = aten::add(%5, %14, %7)
  %9 : float = prim::GetAttr[name="scale"](%self)
  %10 : Tensor = aten::mul(%8, %9)
  %13 : Tensor = aten::add(%10, %14, %7)
  return (%13)
forward(torch.ones([2])): tensor([3.0, 3.0])
