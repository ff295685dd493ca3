# run: freeze
# preserve: scal
# attribute: scale: float = 2.0
def forward(self, x):
  return x * self.scale
# ---- expect
Unknown name: scal. It is no attribute or method of the module.
