# run: tree
import math  # error: import statements aren't supported inside
