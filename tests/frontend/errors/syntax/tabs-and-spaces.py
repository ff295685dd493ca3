# run: tree
def f(x):
        y = x
	return y  # error: inconsistent use of tabs and spaces
