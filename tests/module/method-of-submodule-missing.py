# run: module
def forward(self, x):
  return self.layer.scald(x)
# module: layer
def scaled(self, x):
  return x * 2
# ---- expect
'__torch__.Layer' object has no attribute or method 'scald'. Did you mean 'scaled'?
  File "<string>", line 2
def forward(self, x):
  return self.layer.scald(x)
         ~~~~~~~~~~~~~~~~ <--- HERE
