# run: compile
def f(s: str, xs: List[int], d: Dict[str, int]):
    xs.append(len(s.strip()))
    d.update(d)
    return s.upper().split(","), xs.index(3), d.keys(), d.get("a"), d["b"], xs[0], "k" in d
# ---- expect
