"""Random well-typed programs, run by Cresset and by torch.jit, and what to do with a difference.

    types       the types of generated values, as text and as patterns with variables
    tree        programs as trees of templates and holes: what is printed, searched and shrunk
    rules       the language as a table: one line per expression or statement form
    expressions an expression of a wanted type, from the rules and the names in scope
    statements  blocks of statements, with control flow and scopes
    programs    whole programs: classes, functions, and calls with arguments
    execution   a program compiled and called by one engine; what can be seen of it afterwards
    comparison  what counts as a difference between two engines, and the list of deliberate ones
    shrink      a small program with the same difference
    campaign    many programs in worker processes that may crash or hang; progress and reports

A program is a function of its seed. A new construct is a line of rules.py, or a function of statements.py if it opens a
scope or needs more than types to be well-formed. A new engine is a class of execution.py.
"""
