# run: compile
def f(n: int):
  x: Union[List[Tensor], int] = [str(i) for i in range(n)] # error: List type annotation `List[Tensor]` did not match the types of the given list elements, of which one is of type str
  return x
