# run: tree
f(a.b=1)  # error: only a name may stand before '=' in a call
