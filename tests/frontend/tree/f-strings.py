# run: tree
f"a{x}b"
f"{x!r:>10}{y:{w}.{p}f}"
f"{x + 1} {x=} {x = :3}"
f"{{{x}}}"
f"{{}}"
"{" f"{x}"
f"{f"{x}"}"
# ---- expect
(apply
  (.
    (string_literal "a{}b")
    (ident format))
  (list (variable (ident x)))
  (list))
(apply
  (.
    (string_literal "{!r:>10}{:{}.{}f}")
    (ident format))
  (list
    (variable (ident x))
    (variable (ident y))
    (variable (ident w))
    (variable (ident p)))
  (list))
(apply
  (.
    (string_literal "{} x={!r} x = {:3}")
    (ident format))
  (list
    (+ (variable (ident x)) (const 1))
    (variable (ident x))
    (variable (ident x)))
  (list))
(apply
  (.
    (string_literal "{}{}{}")
    (ident format))
  (list
    (string_literal "{")
    (variable (ident x))
    (string_literal "}"))
  (list))
(string_literal "{}")
(apply
  (.
    (string_literal "{}{}")
    (ident format))
  (list
    (string_literal "{")
    (variable (ident x)))
  (list))
(apply
  (.
    (string_literal "{}")
    (ident format))
  (list
    (apply
      (.
        (string_literal "{}")
        (ident format))
      (list (variable (ident x)))
      (list)))
  (list))
