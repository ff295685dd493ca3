# run: tree
import math  # error: 'import' is not supported inside
