# run: tree
x = b"a"  # error: bytes literals are not supported
