# run: alias
def f(d: Dict[str, List[int]]) -> int:
    n = 0
    for k, xs in d.items():
        xs.append(1)
        n += len(xs)
    return n

def rows(x: Tensor):
    rows: List[List[float]] = x.tolist()
    first = rows[0]
    same = rows[0]
    first.append(1.0)
    return len(same)
# ---- expect
# f
%d: outside(Dict[str, List[int]]); holds outside(List[int])
%2: %2; holds %2[], %2[][], %7[], outside(List[int])
%7: %2[], %7; holds %2[][], %7[], outside(List[int])
%xs: %2[][], %7[], outside(List[int]); written
%11: %2[][], %7[], outside(List[int]); written
aten::append writes %2[][], %7[], outside(List[int])
# rows
%x: outside(Tensor)
%rows: outside(List[List[float]]); holds outside(List[float])
%first: %first, outside(List[float]); written
%same: %same, outside(List[float]); written
%9: %first, outside(List[float]); written
aten::append writes %first, outside(List[float])
