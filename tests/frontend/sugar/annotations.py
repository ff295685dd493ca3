# run: compile
def f(a, b: int, c: Optional[float], d: List[Tuple[int, str]], e: Dict[str, Tensor], g: "int | None",
      h: Union[int, str, None], i: torch.dtype, j: torch.device, k: Tuple[()], l: Any, m: Future[int],
      n: BroadcastingList2[int] = 3, o: float = 1, p: Tuple[int, float] = (1, -2.5), q: List[int] = [],
      r: int = torch.float64, s: float = inf, *, t: str = "x" "y", u: Optional[int] = None):
    pass
# ---- expect
graph(%a : Tensor,
      %b : int,
      %c : float?,
      %d : (int, str)[],
      %e : Dict(str, Tensor),
      %g : int?,
      %h : Union(int, NoneType, str),
      %i : int,
      %j : Device,
      %k : (),
      %l : Any,
      %m : Future[int],
      %n : int[],
      %o : float,
      %p : (int, float),
      %q : int[],
      %r : int,
      %s : float,
      %t : str,
      %u : int?):
  %20 : NoneType = prim::Constant()
  return (%20)
