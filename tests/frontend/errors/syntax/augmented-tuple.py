# run: tree
a, b += c  # error: an augmented assignment can't have several targets
