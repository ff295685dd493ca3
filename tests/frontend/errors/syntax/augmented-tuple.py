# run: tree
a, b += c  # error: augmented assignment can only have one LHS expression
