# run: freeze
# attribute: bias: Optional[Tensor] = None
# attribute: mode: str = "sum"
def forward(self, x):
  if self.training:
    x = torch.dropout(x, 0.5, True)
  bias = self.bias
  if bias is not None:
    x = x + bias
  if self.mode == "sum":
    return x.sum()
  return x.mean()
# call: torch.ones([2])
# ---- expect
module __torch__.___torch_mangle_0.M {
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x.1 : Tensor):
  %17 : NoneType = prim::Constant()
  %18 : Tensor = aten::sum(%x.1, %17)
  return (%18)
forward(torch.ones([2])): tensor(2.0)
