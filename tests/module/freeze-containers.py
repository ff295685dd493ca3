# run: freeze
# attribute: table: Dict[str, Tensor] = {"a": torch.ones([2]), "b": torch.zeros([2])}
# attribute: sizes: List[int] = [2, 1]
# attribute: pair: Tuple[int, float] = (3, 0.5)
def forward(self, x):
  return x * self.table["a"] + self.pair[1], self.sizes, self.pair[0]
# call: torch.ones([2])
# ---- expect
module __torch__.___torch_mangle_0.M {
}

# forward
graph(%self : __torch__.___torch_mangle_0.M,
      %x : Tensor):
  %27 : int = prim::Constant[value=3]()
  %24 : int = prim::Constant[value=2]()
  %9 : int = prim::Constant[value=1]()
  %22 : float = prim::Constant[value=0.5]()
  %18 : str = prim::Constant[value="b"]()
  %16 : str = prim::Constant[value="a"]()
  %17 : Tensor = prim::Constant[value=<Tensor>]()
  %19 : Tensor = prim::Constant[value=<Tensor>]()
  %20 : Dict(str, Tensor) = prim::DictConstruct(%16, %17, %18, %19)
  %4 : Tensor = aten::__getitem__(%20, %16)
  %5 : Tensor = aten::mul(%x, %4)
  %10 : Tensor = aten::add(%5, %22, %9)
  %26 : int[] = prim::ListConstruct(%24, %9)
  %15 : (Tensor, int[], int) = prim::TupleConstruct(%10, %26, %27)
  return (%15)
forward(torch.ones([2])): (tensor([1.5, 1.5]), [2, 1], 3)
