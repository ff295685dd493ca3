# run: tree
"a" 'b' """c"""
r"\n" "\n\x41\u00e9\101\
\d"
"\"'"
# ---- expect
(string_literal "abc")
(string_literal "\\n\nAéA\\d")
(string_literal "\"\'")
