# run: tree
a or b and not c == d | e ^ f & g << h + i * -j ** k
# ---- expect
(or
  (variable (ident a))
  (and
    (variable (ident b))
    (not
      (eq
        (variable (ident c))
        (|
          (variable (ident d))
          (^
            (variable (ident e))
            (&
              (variable (ident f))
              (lshift
                (variable (ident g))
                (+
                  (variable (ident h))
                  (*
                    (variable
                      (ident i))
                    (unary minus
                      (pow
                        (variable
                          (ident j))
                        (variable
                          (ident k))))))))))))))
