"""Each row of torch_jit_behaviours.py with torch.jit and with Cresset: equal results, exceptions, printed text, warnings.

DIFFERENCES are rows that differ, with what Cresset shows and why. A row that is there and doesn't differ fails.
"""

import re
import warnings

import autograd_function_behaviours  # noqa: F401  (adds its rows)
import awaitable_behaviours  # noqa: F401  (adds its rows)
import call_behaviours  # noqa: F401  (adds its rows)
import frozen_behaviours  # noqa: F401  (adds its rows)
import ignored_block_behaviours  # noqa: F401  (adds its rows)
import more_torch_jit_behaviours  # noqa: F401  (adds its rows)
import old_style_behaviours  # noqa: F401  (adds its rows)
import pytest
import refusal_behaviours  # noqa: F401  (adds its rows)
import torch
import torch_jit_messages  # noqa: F401  (adds its rows)
import traced_behaviours  # noqa: F401  (adds its rows)
import type_behaviours  # noqa: F401  (adds its rows)
from script_compare import same
from torch_jit_behaviours import ROWS

import cresset

#: row: (a text that what Cresset shows must have, why). Rows of docs/differences.md give its construct as the reason.
DIFFERENCES = {
    # Right where torch.jit is wrong, or refuses without need.
    "with_no_grad": ("(False, True)", "torch.jit merges the two products, one of them made under no_grad"),
    "module_list_iterated": ("[18., 22., 26.]]", "as in eager; torch.jit's second loop starts elsewhere"),
    "module_names": (
        "'Sub', True",
        "indexing a scripted Sequential gives the scripted submodule, in torch.jit the eager one",
    ),
    "module_train_and_eval": (
        "[False, False]",
        "the same: torch.jit's m[0] is the eager module, which no eval() reached",
    ),
    "trace_submodule_call": ("value", "a traced module can be indexed like the module it was made from"),
    "module_property_setter": ("(8, 8, 4)", "a property of a scripted module can be read from Python"),
    "function_attributes": ("('f', 'f',", "__name__ is the function's name"),
    "class_with_class_attribute": ("value", "attributes of classes are constants (docs/differences.md, base-class)"),
    "text_shift": ("7, 7, -6)", "`~` of an int is Python's (docs/differences.md)"),
    "class_without_init": ("value 2", "a class without __init__ can be made, as in Python"),
    "module_calls_super": ("value", "super() of a module is its base class"),
    "module_static_and_class_data": ("value 7", "attributes of a module's class are constants"),
    "module_parameter_list": ("value", "len() of a ParameterList, as in eager"),
    "module_ignored_property": ("(5, 8, 8)", "a property of Python's is one; in torch.jit it is the property object"),
    "type_comments_of_some_parameters": (
        "f(Tensor a, Tensor b, int c) -> Tensor",
        "a parameter without a type is a tensor, as everywhere",
    ),
    "hook_added_to_scripted": ("value", "hooks of Python run around a scripted module's calls"),
    "containers_asked_for_other_types": (
        "[False, 0, 'ValueError', (True, False, 2, True, False), (True, False, False, False), False, 'KeyError']",
        "as Python's lists and dicts (docs/differences.md)",
    ),
    "dataclass_as_it_is": ("value 6", "the dataclass is compiled (docs/differences.md)"),
    "module_list_at_a_known_index": ("0.5000", "what is known is as good as a literal (docs/differences.md)"),
    "frozen_detach": ("tensor([1., 1.])", "no gradient flows through detach() (docs/differences.md)"),
    "frozen_convolution_without_a_batch": ("[1, 2, 2, 2])", "folds by the rank (docs/differences.md)"),
    "freeze_twice": ("value", "freezing what is frozen changes nothing"),
    "frozen_interface_that_is_swapped": ("value", "what a method swaps stays (docs/differences.md)"),
    "frozen_container_that_a_variable_indexes": ("value", "the container's modules stay (docs/differences.md)"),
    "frozen_dict_of_a_module_that_changes": ("{'a': 1}", "frozen values stay (docs/differences.md)"),
    "frozen_module_that_two_hold": ("tensor([[10., 11., 12.]", "one module stays one (docs/differences.md)"),
    "frozen_parts_of_one_tensor": ("value", "what overlaps stays (docs/differences.md)"),
    "trace_of_nested_lists": ("value", "nothing stands against it (docs/differences.md)"),
    "trace_of_what_leaves_a_fork": ("value", "the fork returns it too (docs/differences.md)"),
    "trace_of_data_of_an_input": ("value", "follows the input (docs/differences.md)"),
    "numbers_assigned_to_parts_out_of_place": ("3.0000", "torch.jit fails inside"),
    "trace_of_tensor_constant_warns": (
        "warned",
        "torch.tensor of a tensor follows the input, so nothing is to be warned of",
    ),
    "awaitable_in_a_frozen_module": ("value", "torch.jit's frozen module lacks what the awaitable reads"),
    "awaitable_of_a_script_that_is_to_run": ("(False,", "its call is still to be made (docs/differences.md)"),
    "awaitable_of_python_given_to_a_script": ("value", "torch.jit's awaitable has a Python object for its result"),
    "union_of_dicts_by_keywords": ("value 4", "the first item chooses the type (docs/differences.md)"),
    "delete_tensor_row": ("does not support item deletion", "torch.jit asserts inside"),
    "text_unpack_tensor": ("tensor([-3., -3., -3.])", "a tensor's first dimension is unpacked, as in Python"),
    "text_range_step_zero": ("must not be zero", "as in Python: torch.jit's loop runs no iteration"),
    "text_tensor_attributes": ("None, 0)", "a tensor's grad may be None (docs/differences.md, undefined-result)"),
    "text_class_in_text": ("value 'compiled'", "texts may define classes (docs/porting.md)"),
    "text_floats": ("value", "0x10 is a number, as in Python"),
    "text_strings": ("value", "so are \\x41 and \\u00e9 characters, and strings beside each other one string"),
    "module_calls_method_with_keywords": ("value", "keyword-only parameters may have defaults"),
    # Refused, where torch.jit compiles what raises later, or gives other numbers.
    "text_len_of_int": ("has no len()", "no call of it can go well"),
    "text_duplicate_argument": ("is declared twice", "as in Python"),
    "freeze_conv_bn": (
        "'aten::ne'",
        "an unbatched input is refused, as in eager: torch.jit takes all inputs for batched ones",
    ),
    # Refused by both, in words that say more.
    "text_str_assigned": ("str does not support subscripted assignment", "torch.jit's text lists overloads"),
    "text_nested_function": ("function definitions aren't supported inside a function", "says what to do instead"),
    "text_syntax": ("expected an expression", "torch.jit expects an ident"),
    "text_unclosed": ("'(' was never closed", "points to where it was opened"),
    "text_indentation": ("expected an indented block", "torch.jit expects an ident"),
    "text_long_number": ("is out of range: it does not fit in 64 bits", "names the number"),
    "text_two_functions_one_name": ("'f' is defined twice", "it is a function, not a method"),
    "enum_unknown_member": ("has no attribute 'BLUE'", "torch.jit's text lacks a quote and says Enum<…>"),
    "isinstance_of_containers": ("without contained types", "names what to write instead of dict"),
    "function_wrong_type": (
        "of Python type 'float' to int",
        "torch.jit's text is a binding library's, without the types",
    ),
    "trace_called_wrongly": ("of Python type 'int' to Tensor", "says the type of what was given"),
    "module_set_wrong_attribute": ("Unable to cast 'a' of Python type 'str' to int", "the same"),
    "varargs": ("'*' parameters are not supported; pass a list", "keyword-only arguments with defaults are supported"),
    "operator_of_torch_ops_that_scripts_lack": (
        "scripts have no operator prim::AddStatValue",
        "what torch.jit counts with is its own",
    ),
    "ignored_function_is_not_saved": (
        "Could not export Python function call 'g'",
        "hints differ: there are no script methods to forget",
    ),
    "unused_function": (
        "Cannot call @unused methods",
        "one text, torch.jit's own for methods in classes, for all that is unused",
    ),
    "ignore_with_drop": ("Cannot call @unused methods", "the same"),
    "module_unused_method": ("Cannot call @unused methods", "the same"),
    "interface_instantiated": ("cannot call a interface", "torch.jit complains of the interface's empty body"),
    "module_ignored_attribute_used": ("one of the __jit_ignored_attributes__", "hints differ"),
    "module_constant_is_fixed": ("Can't set constant 'k'", "it exists, and is a constant"),
    "module_attribute_of_unknown_type": ("scripts have no type for", "hints differ"),
    "module_empty_list": ("an empty list does not show", "hints differ"),
    "module_without_forward": ('is missing the required "forward" function', "eager's NotImplementedError"),
    "trace_no_inputs": ("trace() needs inputs", "says what is missing"),
    "save_eager_module": ("Only script modules and script functions can be saved", "says what can be saved"),
    "load_garbage": ("not a zip archive", "says what the file is not, without guesses"),
    "save_wrong_extra_files": ("must be str or bytes, not int", "torch.jit's text is a binding library's"),
    # Programs as they print: other steps lead to them.
    "module_code_with_constants": ("torch.add(x, CONSTANTS.c0)", "a constant tensor stands without copies of it"),
    "module_code": ("torch.mul(x, self.w)", "attributes are read where they are used"),
    "trace_names": ("torch.mul(x, 2)", "numbers stay numbers in traces"),
    "trace_of_random_warns": ("torch.rand([2, 3], device", "arguments that are None stay out"),
    "graph_text": ("%x : Tensor", "values keep their names without versions"),
    "graph_attributes": ("2, 2)", "constants stand in another order"),
    # By decision.
    "module_getstate": ("trusted=True", "loading runs no code of an archive (docs/decisions/0002-setstate.md)"),
    "load_and_restore_shapes": (
        "unexpected keyword argument '_restore_shapes'",
        "archives don't keep shapes of example inputs",
    ),
}

# What only says where or how an error was raised.
_NOISE = re.compile(r"/tmp/\w+| \(of Python compilation unit at: 0x[0-9a-f]+\)|___torch_mangle_\d+\.")


def plain(message):
    """Without addresses and folders; engines by one name."""
    return _NOISE.sub("", message).replace("torch.jit.", "cresset.")


def first_line(message):
    """What went wrong, without the places: of a traceback of the interpreter its last line."""
    message = plain(message)
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[-1] if "failed in the TorchScript interpreter" in message else lines[0]
    return line.removeprefix("RuntimeError: ").rstrip(":. ")


def outcome(function, engine, capfd):
    torch.manual_seed(0)
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            kind, result = "value", function(engine)
        except Exception as error:
            kind, result = "raised", error
    printed = capfd.readouterr().out
    texts = sorted({first_line(str(w.message)) for w in seen if "deprecated" not in str(w.message)})
    return kind, result, printed, texts


def builtin_class(error):
    """The class by which people catch it."""
    return next(each for each in type(error).__mro__ if each.__module__ == "builtins")


def disagreement(mine, theirs):
    """What differs, as text; "" if nothing does."""
    if mine[0] != theirs[0]:
        return f"{mine[0]} {mine[1]!r}, and torch.jit {theirs[0]} {theirs[1]!r}"
    if mine[0] == "raised":
        if not isinstance(mine[1], builtin_class(theirs[1])):
            return f"raised {mine[1]!r}, and torch.jit a {builtin_class(theirs[1]).__name__}: {theirs[1]}"
        if first_line(str(theirs[1])) not in plain(str(mine[1])):
            return f"raised {mine[1]}, and torch.jit said {first_line(str(theirs[1]))!r}"
    elif not same(mine[1], theirs[1]):
        return f"{mine[1]!r}, and torch.jit {theirs[1]!r}"
    if mine[2] != theirs[2]:
        return f"printed {mine[2]!r}, and torch.jit {theirs[2]!r}"
    if mine[3] != theirs[3]:
        return f"warned {mine[3]}, and torch.jit {theirs[3]}"
    return ""


@pytest.mark.parametrize("name", ROWS)
def test_behaviour(name, capfd):
    function = ROWS[name][1]
    found = disagreement(outcome(function, cresset, capfd), outcome(function, torch.jit, capfd))
    if name not in DIFFERENCES:
        assert not found
        return
    phrase, why = DIFFERENCES[name]
    assert found, "it differs no more"
    assert phrase in found and why


def test_rows_are_in_use():
    assert not DIFFERENCES.keys() - ROWS.keys()
    assert {use for use, _ in ROWS.values()} == {"script", "module", "trace", "freeze", "save", "graph"}


def test_a_file_that_cannot_be_written(tmp_path):
    """torch.jit goes on as if it had written it."""

    def f(x: torch.Tensor, name: str):
        torch.save(x, name)

    path = str(tmp_path / "nowhere" / "x.pt")
    torch.jit.script(f)(torch.ones(1), path)
    with pytest.raises(RuntimeError, match="nowhere/x.pt"):
        cresset.script(f)(torch.ones(1), path)


@pytest.mark.parametrize(
    "text, said",
    [
        ("[x, 'a']", r"List consists of heterogeneous types.* Union\[int, str\]"),
        ("{'a': x, 'b': 'c'}", r"Dict values consist of heterogeneous types.* Dict\[str, Union\[int, str\]\]"),
    ],
)
def test_containers_of_several_types(text, said):
    """torch.jit warns too: on stderr, or as Python does, depending on what ran before."""
    with pytest.warns(UserWarning, match=said):
        cresset.CompilationUnit(f"def f(x: int):\n  return {text}\n").f.graph  # noqa: B018
