# run: freeze
# buffer: count = torch.zeros([])
# buffer: mean = torch.ones([2])
# attribute: calls: int = 0
def forward(self, x):
  self.count.add_(1)
  self.calls = self.calls + 1
  return x * self.count + self.mean, self.calls
# call: torch.ones([2])
# call: torch.ones([2])
# ---- expect
module __torch__.___torch_mangle_0.M {
  buffer count : Tensor = Float[] on cpu
  attribute calls : int = 2
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x : Tensor):
  %3 : int = prim::Constant[value=1]()
  %2 : Tensor = prim::GetAttr[name="count"](%self)
  %5 : Tensor = aten::add_(%2, %3, %3)
  %6 : int = prim::GetAttr[name="calls"](%self)
  %8 : int = aten::add(%6, %3)
   = prim::SetAttr[name="calls"](%self, %8)
  %9 : Tensor = prim::GetAttr[name="count"](%self)
  %10 : Tensor = aten::mul(%x, %9)
  %16 : Tensor = prim::Constant[value=<Tensor>]()
  %13 : Tensor = aten::add(%10, %16, %3)
  %14 : int = prim::GetAttr[name="calls"](%self)
  %15 : (Tensor, int) = prim::TupleConstruct(%13, %14)
  return (%15)
forward(torch.ones([2])): (tensor([2.0, 2.0]), 1)
forward(torch.ones([2])): (tensor([3.0, 3.0]), 2)
