"""Rows of frame capture for backward hooks: of modules, and of tensors. Part of `_recording.py`.

The calls of a plan set them up; the engine runs them, as the Python that they are. So a backward pass along a tape with hooks is
no part of the plan.
"""

import types

import torch

from . import _C
from ._hooks import HookedTensor, begin_hooks, has_full_hooks, hook_result, hook_results
from ._recording_values import BoundMethod, Fresh, NewFunction, NoRow, RealCell, Transient, Value

REGISTER = torch.Tensor.register_hook
REGISTER_AFTER = torch.Tensor.register_post_accumulate_grad_hook
OF_TENSORS = {"register_hook": REGISTER, "register_post_accumulate_grad_hook": REGISTER_AFTER}
CODES = {function: function.__code__ for function in OF_TENSORS.values()}


class Hooks:
    """What a recorder does for backward hooks."""

    def init_hooks(self):
        self.has_hooked = False  # whether a tensor has got a hook

    def no_hooks_of_tape(self, what):
        if self.has_hooked:
            raise NoRow(f"{what} along a tape with hooks")

    # ---- Of modules

    def backward_hooks_of(self, module, hooks):
        """The register of what sets up the backward hooks that a module has; None if it has none. `hooks`: its dicts of them."""
        if not any(each.object for each in hooks):
            for each in hooks:
                self.no_hooks(each)
            return None
        what = "a module with backward hooks"
        if self.options.backend is not None or self.transform is not None or self.traced or _C._is_transformed():
            raise NoRow(f"{what}, in a graph of a backend, or in a transform")
        if not has_full_hooks(module.object):
            raise NoRow(f"{what} that are not full")
        self.check_untransformed()
        inputs = [self.register(module)]
        found = self.emit("Call", self.register(self.constant(has_full_hooks)), inputs=inputs)
        self.see(found, True)
        self.check("CheckIs", found, object=True)
        register = self.emit("Call", self.register(self.constant(begin_hooks)), inputs=inputs)
        self.see(register, begin_hooks(module.object))
        return register

    def hooked(self, function, hook, values, is_tuple=True):
        """What a call makes of the tensors among the values; the others are what they were. What it makes is unknown until it
        is on the stack."""
        tensors = [value for value in values if self.is_tensor(value)]
        if any(isinstance(getattr(value, "object", None), torch.Tensor) and value not in tensors for value in values):
            raise NoRow("a module with backward hooks, and tensors of a class of their own")
        none = self.register(self.constant(None))
        inputs = [hook, *(self.register(self.typed(value)) if value in tensors else none for value in values)]
        self.num_calls += 1
        register = self.compute("Call", self.register(self.constant(function)), inputs=inputs)
        objects = [value.object for value in tensors]
        self.see(register, tuple(objects) if is_tuple else objects[0])
        made = []
        for place, object in enumerate(objects):
            value = Value(self.emit("Item", register, place) if is_tuple else register, object, typed=True)
            self.values[value.register] = value
            self.unseen.add(value.register)
            made.append(value)
        after = dict(zip(map(id, tensors), made, strict=True))
        return [after.get(id(value), value) for value in values]

    def results_with_hooks(self, hook, result):
        """What a module with backward hooks returns."""
        if self.is_tensor(result):
            (made,) = self.hooked(hook_result, hook, [result], is_tuple=False)
            self.unseen.discard(made.register)
            self.transformed = lambda found: self.see_hooked([made], [found])
            return made
        if type(result) is not Fresh or result.kind is not tuple or not any(map(self.is_tensor, result.items)):
            raise NoRow("a module with backward hooks that returns other than tensors")
        items = self.hooked(hook_results, hook, result.items)
        self.unseen.difference_update(item.register for item in items if isinstance(item, Value))
        self.transformed = lambda found: self.see_hooked(items, found)
        return Fresh(tuple, items)

    def see_hooked(self, values, found):
        if len(values) != len(found):
            raise NoRow("a module with backward hooks that returns something else")
        for value, object in zip(values, found, strict=True):
            if self.is_tensor(value):
                if type(object) is not torch.Tensor:
                    raise NoRow("a module with backward hooks that returns something else")
                value.object = object

    # ---- Of tensors

    def call_register_hook(self, callee, arguments, names):
        """`tensor.register_hook(hook)`. Of a tensor that is there the hook is taken away if the plan is given up."""
        name = f"a call of {callee.object.__name__}"
        if len(arguments) != 2 or names or not self.is_tensor(arguments[0]):
            raise NoRow(f"{name} with other arguments")
        if (
            self.options.backend is not None
            or self.region is not None
            or self.transform is not None
            or self.traced
            or _C._is_transformed()
        ):
            raise NoRow(f"{name} in a graph of a backend, in a checkpoint, or in a transform")
        owner, hook = arguments
        self.identical(callee)
        self.has_code(callee.object, CODES[callee.object])
        self.check_untransformed()
        if not owner.object.requires_grad or (self.flags and self.flag_at(owner) is not None):
            raise NoRow(f"{name} of a tensor that requires no gradient")
        register = self.register(self.typed(owner))
        is_there = self.is_read(register)
        if not is_there and (
            callee.object is not REGISTER or owner.object.is_leaf or register in self.written.values()
        ):
            raise NoRow(f"{name} of a leaf that the plan makes")
        if is_there and (self.gradients or self.made_leaves):
            raise NoRow(f"{name} after a backward pass")
        self.before_effect()
        given = self.function_object(hook, name)
        self.has_hooked = True
        requires = self.emit("GetAttr", register, object="requires_grad")
        self.see(requires, True)
        self.check("CheckIs", requires, object=True)
        inputs = [self.register(callee), register, self.register(given)]
        if is_there:
            made = self.emit("Save", self.register(self.constant(HookedTensor)), inputs=inputs)
            handle = self.emit("GetAttr", made, object="handle")
        else:
            handle = self.emit("Call", inputs[0], inputs=inputs[1:])
            self.effects[handle] = [register]
        self.num_calls += 1
        self.see(handle, None)
        self.pending = self.values[handle]
        self.transformed = lambda found: setattr(self.values[handle], "object", found)

    def function_object(self, value, what):
        """The Value of a function, which the plan makes if the program has made it in this call."""
        if isinstance(value, BoundMethod):
            value = self.as_object(value)
        if isinstance(value, NewFunction):
            return self.made_function(value, what)
        if not isinstance(value, Value) or isinstance(value, Fresh):
            raise NoRow(f"{what} with a function of another kind")
        return value

    def made_function(self, made, what):
        """The Value of a function that the plan makes of code of the program's."""
        if made.keyword_defaults or any(not isinstance(each, Value) for each in made.defaults):
            raise NoRow(f"{what} with a function that has defaults of another kind")
        scope = self.emit("Globals", -1 if made.scope is None else self.register(made.scope))
        inputs = [self.register(self.constant(made.code)), scope, self.register(self.constant(made.code.co_name))]
        inputs.append(
            self.register(Fresh(tuple, list(made.defaults))) if made.defaults else self.register(self.constant(None))
        )
        if made.code.co_freevars:
            cells = [self.cell_object(cell, what) for cell in made.cells]
            inputs.append(self.emit("Tuple", inputs=cells))
        register = self.emit("Call", self.register(self.constant(types.FunctionType)), inputs=inputs)
        self.values[register] = Value(register, None, typed=True)
        return self.values[register]

    def cell_object(self, cell, what):
        """The register of the cell of a variable that functions share."""
        if isinstance(cell, RealCell):
            return cell.register(self)
        for place, other in self.frames[0].cells.items():
            if other is cell:  # which the plan's end sets
                if len(self.frames) > 1:
                    raise NoRow(f"{what} with a function that shares a variable of another kind")
                cell.made = self.register(self.slot(self.view, place))
                return cell.made
        if cell.made is None:
            if isinstance(cell.value, Transient) or cell.value is None:
                raise NoRow(f"{what} with a function that shares a variable of another kind")
            inputs = [self.register(cell.value)]
            cell.made = self.emit("Call", self.register(self.constant(types.CellType)), inputs=inputs)
            self.see(cell.made, types.CellType())
        return cell.made
