# run: tokens
"""a
  "b" 
""" + x
# ---- expect
2:0 string_literal "\"\"\"a\n  \"b\" \n\"\"\""
4:4 +
4:6 ident x
4:7 newline
5:0 eof
