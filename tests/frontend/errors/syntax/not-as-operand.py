# run: tree
x = 1 + not y  # error: 'not' must be in parentheses here
