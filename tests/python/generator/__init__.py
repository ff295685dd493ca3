"""Random well-typed programs, run by Cresset and by others, and what to do with a difference.

There are two kinds. Programs of text have every construct of the language, and torch.jit is the other engine. Tensor
programs are for the optimizer: modules with views, writes, control flow and gradients, called with arguments of several
kinds; they are Python too, and eager PyTorch is the other engine.

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

    tensor_programs   tensor programs: their rules and types, whose tensors have sizes, and calls with arguments that share
                      memory
    tensor_execution  a tensor program by eager PyTorch, by Cresset unoptimized and by plans
    tensor_comparison what counts as a difference between these
    graph_execution   graphs of tensor programs, handled as passes handle them

A program is a function of its seed. A new construct is a line of rules.py, or a function of statements.py if it opens a
scope or needs more than types to be well-formed. A new engine is a class of execution.py.
"""
