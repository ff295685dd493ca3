# run: tokens
"a" 'b' """c""" '''d''' "" '' r"\"" u"x"
# ---- expect
2:0 string_literal "a"
2:4 string_literal 'b'
2:8 string_literal """c"""
2:16 string_literal '''d'''
2:24 string_literal ""
2:27 string_literal ''
2:30 string_literal r"\""
2:36 string_literal u"x"
2:40 newline
3:0 eof
