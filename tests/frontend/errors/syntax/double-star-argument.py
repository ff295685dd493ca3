# run: tree
f(**a)  # error: keyword-arg expansion is not supported
