# run: tree
@torch.jit.script
@export(1)
def f(): pass
@dataclass
class C: x: int
# ---- expect
(def
  (ident f)
  (decl (list) (option))
  (list (pass))
  (list
    (.
      (.
        (variable (ident torch))
        (ident jit))
      (ident script))
    (apply
      (variable (ident export))
      (list (const 1))
      (list))))
(class
  (ident C)
  (list)
  (list
    (assign
      (list (variable (ident x)))
      (option)
      (option (variable (ident int)))))
  (list (variable (ident dataclass))))
