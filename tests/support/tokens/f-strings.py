# run: tokens
f"a{x}b" rf"{x!r:>{n}}" F'{d["k"]}' f"{d["k"]}" f"{{x}}"
# ---- expect
2:0 string_literal f"a{x}b"
2:9 string_literal rf"{x!r:>{n}}"
2:24 string_literal F'{d["k"]}'
2:36 string_literal f"{d["k"]}"
2:48 string_literal f"{{x}}"
2:56 newline
3:0 eof
