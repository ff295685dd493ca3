# run: tree
x = await y  # error: 'await' is not supported
