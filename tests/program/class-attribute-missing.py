# run: program
class C:
  def __init__(self):
    self.length = 1

  def get(self):
    return self.lenght

def f():
  return C().get()
# ---- expect
'C' object has no attribute or method 'lenght'. Did you mean 'length'?
  File "class-attribute-missing.py", line 7
  def get(self):
    return self.lenght
           ~~~~~~~~~~~ <--- HERE
'get' is being compiled since it was called from here
  File "class-attribute-missing.py", line 10
def f():
  return C().get()
         ~~~~~~~ <--- HERE
