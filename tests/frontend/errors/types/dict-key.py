# run: compile
def f(x: Dict[List[int], int]):  # error: Cannot create dict for key type 'int[]'
    return x
