# run: module
# parameter: weight = torch.ones([2])
# buffer: mean = torch.zeros([2])
# attribute: scale: float = 2.0
def forward(self, x):
  return self.layer.scaled(x) + self.mean

def unused(self):
  return self.scale
# module: layer
# parameter: weight = torch.ones([1])
def scaled(self, x):
  return x * self.weight
# call: torch.ones([2])
# ---- expect
module __torch__.M {
  attribute training : bool = False
  parameter weight : Tensor = Float[2] on cpu
  buffer mean : Tensor = Float[2] on cpu
  attribute scale : float = 2.
  method forward {
    graph(%self : __torch__.M,
          %x : Tensor):
      %2 : __torch__.Layer = prim::GetAttr[name="layer"](%self)
      %3 : Tensor = prim::CallMethod[name="scaled"](%2, %x)
      %4 : Tensor = prim::GetAttr[name="mean"](%self)
      %5 : int = prim::Constant[value=1]()
      %6 : Tensor = aten::add(%3, %4, %5)
      return (%6)
  }
  method unused {
    graph(%self : __torch__.M):
      %1 : float = prim::GetAttr[name="scale"](%self)
      return (%1)
  }
  submodule layer
    module __torch__.Layer {
      attribute training : bool = False
      parameter weight : Tensor = Float[1] on cpu
      method scaled {
        graph(%self : __torch__.Layer,
              %x : Tensor):
          %2 : Tensor = prim::GetAttr[name="weight"](%self)
          %3 : Tensor = aten::mul(%x, %2)
          return (%3)
      }
    }
}

forward(torch.ones([2])): tensor([1.0, 1.0])
