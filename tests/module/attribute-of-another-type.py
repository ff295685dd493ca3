# run: module
# attribute: scale: float = 2.0
def forward(self, x):
  self.scale = "two"
  return x
# ---- expect
Wrong type for attribute assignment. Expected float but got str
  File "<string>", line 2
def forward(self, x):
  self.scale = "two"
  ~~~~~~~~~~~~~~~~~~ <--- HERE
  return x
