# run: freeze
# buffer: memory = torch.zeros([3])
# buffer: other = torch.ones([3])
def forward(self, x, i: int):
  row = self.memory[i]
  row.copy_(x)
  return self.memory + self.other
# call: torch.ones([]), 0
# call: torch.ones([]), 2
# ---- expect
module __torch__.___torch_mangle_0.M {
  buffer memory : Tensor = Float[3] on cpu
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x : Tensor,
      %i : int):
  %10 : int = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=0]()
  %3 : Tensor = prim::GetAttr[name="memory"](%self)
  %row : Tensor = aten::select(%3, %4, %i)
  %7 : Tensor = aten::copy_(%row, %x, %6)
  %8 : Tensor = prim::GetAttr[name="memory"](%self)
  %12 : Tensor = prim::Constant[value=<Tensor>]()
  %11 : Tensor = aten::add(%8, %12, %10)
  return (%11)
forward(torch.ones([]), 0): tensor([2.0, 1.0, 1.0])
forward(torch.ones([]), 2): tensor([2.0, 1.0, 2.0])
