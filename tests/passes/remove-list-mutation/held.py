# run: compile, remove-list-mutation
def appended(x: int):
    l = [x]
    holder: List[List[int]] = []
    holder.append(l)
    l[0] = 5
    return holder

def set_at_an_index(x: int):
    l, m = [x], [x]
    holder = [m]
    holder[0] = l
    l.append(5)
    return holder
# ---- expect
# appended
graph(%x : int):
  %l : int[] = prim::ListConstruct(%x)
  %holder : int[][] = prim::ListConstruct(%l)
  %4 : int = prim::Constant[value=5]()
  %5 : int = prim::Constant[value=0]()
  %6 : int[] = aten::_set_item(%l, %5, %4)
  return (%holder)
# set_at_an_index
graph(%x : int):
  %1 : int[] = prim::ListConstruct(%x)
  %2 : int[] = prim::ListConstruct(%x)
  %3 : (int[], int[]) = prim::TupleConstruct(%1, %2)
  %l : int[], %m : int[] = prim::TupleUnpack(%3)
  %7 : int = prim::Constant[value=0]()
  %holder : int[][] = prim::ListConstruct(%l)
  %9 : int = prim::Constant[value=5]()
  %10 : int[] = aten::append(%l, %9)
  return (%holder)
