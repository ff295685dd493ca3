# run: tree
f(**a)  # error: '**' arguments are not supported
