# run: freeze
# parameter: weight = torch.ones([2])
# attribute: scale: float = 2.0
# attribute: name: str = "unused"
def forward(self, x):
  return x * self.weight * self.scale
# call: torch.ones([2])
# ---- expect
module __torch__.___torch_mangle_0.M {
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x : Tensor):
  %7 : float = prim::Constant[value=2.]()
  %6 : Tensor = prim::Constant[value=<Tensor>]()
  %3 : Tensor = aten::mul(%x, %6)
  %5 : Tensor = aten::mul(%3, %7)
  return (%5)
forward(torch.ones([2])): tensor([2.0, 2.0])
