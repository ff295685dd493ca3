# run: compile
class C:
  k: Final[int] = 3
  def __init__(self):
    self.x = 1
  def f(self):
    self.k = 4  # error: Can't set constant 'k'
