# run: freeze
def forward(self, x):
  return self.first(self.second(x))
# module: first
# parameter: weight = torch.full([2], 3.0)
def forward(self, x):
  return x * self.weight
# module: second
# attribute: times: int = 3
def forward(self, x):
  for i in range(self.times):
    x = x + i
  return x
# call: torch.ones([2])
# ---- expect
module __torch__.___torch_mangle_0.M {
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x.1 : Tensor):
  %11 : int = prim::Constant[value=1]()
  %15 : int = prim::Constant[value=3]()
  %7 : bool = prim::Constant[value=1]()
  %x : Tensor = prim::Loop(%15, %7, %x.1)
    block0(%i : int, %x.2 : Tensor):
      %x.3 : Tensor = aten::add(%x.2, %i, %11)
      -> (%7, %x.3)
  %16 : Tensor = prim::Constant[value=<Tensor>]()
  %14 : Tensor = aten::mul(%x, %16)
  return (%14)
forward(torch.ones([2])): tensor([12.0, 12.0])
