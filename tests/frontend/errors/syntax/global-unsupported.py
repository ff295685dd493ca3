# run: tree
global x  # error: global variables aren't supported
