# run: tree
class M(Module):
  """A module."""
  __parameters__ = ["weight", ]
  __annotations__["0"] = __torch__.N
  weight : Tensor
  n : Final[int] = 3
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.mm(x, self.weight)
# ---- expect
(class
  (ident M)
  (list (variable (ident Module)))
  (list
    (expression statement
      (string_literal "A module."))
    (assign
      (list
        (variable
          (ident __parameters__)))
      (option
        (list literal
          (list
            (string_literal "weight"))))
      (option))
    (assign
      (list
        (subscript
          (variable
            (ident __annotations__))
          (list (string_literal "0"))))
      (option
        (.
          (variable (ident __torch__))
          (ident N)))
      (option))
    (assign
      (list (variable (ident weight)))
      (option)
      (option
        (variable (ident Tensor))))
    (assign
      (list (variable (ident n)))
      (option (const 3))
      (option
        (subscript
          (variable (ident Final))
          (list (variable (ident int))))))
    (def
      (ident forward)
      (decl
        (list
          (param
            (ident self)
            (option
              (.
                (variable
                  (ident __torch__))
                (ident M)))
            (option)
            (False))
          (param
            (ident x)
            (option
              (variable (ident Tensor)))
            (option)
            (False)))
        (option
          (variable (ident Tensor))))
      (list
        (return
          (apply
            (.
              (variable (ident torch))
              (ident mm))
            (list
              (variable (ident x))
              (.
                (variable (ident self))
                (ident weight)))
            (list))))
      (list)))
  (list))
