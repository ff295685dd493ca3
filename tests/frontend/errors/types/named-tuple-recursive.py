# run: compile
class P(NamedTuple):
    x: Optional[P]  # error: 'P' refers to itself before it is complete
