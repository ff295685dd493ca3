# run: tree
x = y  # error: nested too deeply: at most 200 levels
