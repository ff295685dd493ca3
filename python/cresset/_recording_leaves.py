"""Rows of frame capture for the gradients of leaves: `p.grad`, read and set, and a tensor's `backward()`. Part of `_recording.py`.

A plan sets `.grad` at its end, as it sets attributes, so that nothing is to be undone. `backward()` is what `torch.autograd.grad` computes
for the leaves of the tape, which the plan itself records, and what autograd's AccumulateGrad makes of that: a leaf without a gradient gets
it, or a copy of it where something else has it, and to a gradient that is there it is added in place, as any write of the plan's.
"""

import torch

from . import _C
from ._recording_gradients import GRAD, begin_tape, copy_of_gradient
from ._recording_values import OBJECT_SETATTR, NoRow, Value, is_watched
from ._rows import argument_of
from ._segments import TENSORS

BACKWARD, BACKWARD_CODE = torch.Tensor.backward, torch.Tensor.backward.__code__
BACKWARD_OF_TENSORS = torch.autograd.backward
BACKWARD_OF_TENSORS_CODE = BACKWARD_OF_TENSORS.__code__
GRAD_OF_TENSORS, DATA_OF_TENSORS = torch.Tensor.grad, torch.Tensor.data
ADD = torch.Tensor.add_
#: How many instructions of CPython take as long as what is Python of a backward pass.
INSTRUCTIONS_OF_BACKWARD = 300
#: Steps that read what there is, beside those that take elements out of it.
_READS = {
    "LoadSlot", "LoadGlobal", "LoadCell", "LoadFree", "LoadDefault", "LoadKeywordDefault", "DictItem", "ClassItem",
    "ClassMember", "Referent",
}  # fmt: skip
_ARGUMENTS = ("self", "gradient", "retain_graph", "create_graph", "inputs")
_ARGUMENTS_OF_TENSORS = ("tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs")


class Leaves:
    """What a recorder does for gradients of leaves."""

    def init_leaves(self):
        self.leaves = {}  # identity of a tensor -> the Value that it was first seen as
        self.flags = {}  # register of a leaf -> whether it requires gradients, of those that the plan has set
        self.redirected = set()  # identities of tensors whose `.data` the plan sets at its end
        self.names_of_leaves = {}  # registers that hold leaves -> the tensor
        self.gradients = {}  # register of a leaf -> the Value of its `.grad`, as it is at this instruction
        self.copies = set()  # registers of gradients with a tape, which passes of the plan have made
        self.made_leaves = {}  # register -> Value of a leaf that a call of the plan has made; until a pass there is no gradient

    def leaf(self, value, what):
        """The Value by which the plan knows a leaf whose gradient is asked for or set; the plan's end checks which of those that
        it reads are one tensor."""
        if type(value.object) not in TENSORS or not value.object.is_leaf:
            raise NoRow(f"{what} of what is no leaf")
        register = self.register(self.typed(value))
        if register in self.made_leaves:
            return self.made_leaves[register]
        if not self.is_read(register):
            raise NoRow(f"{what} of what the plan makes")
        self.names_of_leaves[register] = value.object
        self.check_leaf(value)
        return self.leaves.setdefault(id(value.object), value)

    def check_leaf(self, value):
        """Checks that a tensor is a leaf."""
        if ("leaf", self.register(value)) not in self.checked:
            self.checked["leaf", value.register] = True
            is_leaf = self.emit("GetAttr", value.register, object="is_leaf")
            self.see(is_leaf, True)
            self.check("CheckIs", is_leaf, object=True)

    def is_read(self, register):
        """Whether what a register holds was there before the plan."""
        self.trace()
        step = self.step_of.get(register)
        while step is not None and step[0] in ("Item", "ItemAt"):
            step = self.step_of.get(step[2])
        return step is not None and (step[0] in _READS or (step[0] == "GetAttr" and step[4] == "grad"))

    def gradient_at(self, leaf):
        """The Value of a leaf's `.grad`."""
        found = self.gradients.get(leaf.register)
        if found is None and leaf.register in self.made_leaves:
            found = self.gradients[leaf.register] = self.constant(None)
        if found is None:
            object = leaf.object.grad
            if object is not None and type(object) not in TENSORS:
                raise NoRow("a gradient of another class")
            found = Value(self.emit("GetAttr", leaf.register, object="grad"), object)
            self.values[found.register] = found
            self.gradients[leaf.register] = self.checked["item", leaf.register, GRAD_OF_TENSORS] = self.typed(found)
        return found

    def gradient_of(self, owner):
        """`p.grad` of a leaf, as a look at another one's warns."""
        self.not_in_transform("a tensor's grad")
        if not owner.object.is_leaf or self.options.backend is not None:
            raise NoRow("the grad of a tensor that is no leaf")
        if self.register(owner) in self.gradients or self.is_read(owner.register):
            self.pending = self.gradient_at(self.leaf(owner, "the grad"))
            return
        self.check_leaf(owner)
        self.pending = self.emit("GetAttr", self.register(owner), object="grad")

    def set_gradient(self, owner, value):
        """`p.grad = value`."""
        what = "a tensor's grad that is set"
        self.not_in_transform(what)
        is_none = type(value) is Value and value.object is None
        if self.options.backend is not None or not (is_none or self.is_tensor(value)):
            raise NoRow(what)
        is_plain = self.class_attribute(owner, "grad") is GRAD_OF_TENSORS
        if not is_plain or self.class_attribute(owner, "__setattr__") is not OBJECT_SETATTR:
            raise NoRow(what)
        self.typed(value)
        leaf = self.leaf(owner, what)
        before = self.gradient_at(leaf)
        self.frees(before)
        if before.object is not None and is_watched(before.object):
            raise NoRow("an object that is replaced, whose freeing may be noticed")
        self.store_gradient(leaf, value)

    def set_data(self, owner, value):
        """`p.data = value` of what is there, at the plan's end: until then nothing may look at p."""
        what = "a tensor's data that is set"
        self.not_in_transform(what)
        if self.options.backend is not None or not self.is_tensor(value) or not self.is_read(self.register(owner)):
            raise NoRow(what)
        is_plain = self.class_attribute(owner, "data") is DATA_OF_TENSORS
        if not is_plain or self.class_attribute(owner, "__setattr__") is not OBJECT_SETATTR:
            raise NoRow(what)
        self.names_of_leaves[owner.register] = owner.object
        register = next(key for key, object in self.names_of_leaves.items() if object is owner.object)
        self.redirected.add(id(owner.object))
        self.stores.append((register, DATA_OF_TENSORS, self.typed(value)))

    def not_redirected(self, registers):
        """Requires that none of them holds a tensor that is other memory by now."""
        for register in registers:
            value = self.values.get(register)
            if self.is_tensor(value) and self.is_read(register):
                self.names_of_leaves[register] = value.object
                if id(value.object) in self.redirected:
                    raise NoRow("a tensor whose data was set")

    def store_gradient(self, leaf, value):
        self.before_effect()
        self.gradients[leaf.register] = value
        self.stores.append((leaf.register, GRAD_OF_TENSORS, value))

    def check_same_leaves(self):
        """Checks which of the leaves that the plan reads are one tensor."""
        made, numbers = {step[1] for step in self.steps}, {}
        names = {register: object for register, object in self.names_of_leaves.items() if register in made}
        kinds = (GRAD_OF_TENSORS, DATA_OF_TENSORS)
        are_set = self.flags or any(key in kinds or type(key) is tuple for _, key, _ in self.stores)
        if not are_set and len(set(map(id, names.values()))) == len(names):
            return
        pattern = tuple(numbers.setdefault(id(object), len(numbers)) for object in names.values())
        self.redirected = set()  # the check comes before all that is set
        self.require(_C._are_same_objects, pattern, list(names))

    def require(self, function, pattern, registers):
        """Checks what a function says of tensors, of which `pattern` is what it is to say it of."""
        inputs = [self.register(self.constant(pattern)), *registers]
        result = self.emit("Call", self.register(self.constant(function)), inputs=inputs)
        self.see(result, True)
        self.check("CheckIs", result, object=True)

    # ---- backward()

    def call_backward(self, callee, arguments, names):
        """A tensor's `backward()`, or torch.autograd.backward of one or several."""
        is_method = callee.object is BACKWARD
        name = "a tensor's backward" if is_method else "a call of torch.autograd.backward"
        self.not_in_transform(name)
        modes = any(mode[0] != "grad" for mode in self.modes)
        if self.options.backend is not None or self.region is not None or modes or _C._is_transformed():
            raise NoRow(f"{name} in a graph of a backend, in a checkpoint, or in a mode or transform")
        self.no_hooks_of_tape(name)
        known = _ARGUMENTS if is_method else _ARGUMENTS_OF_TENSORS
        given = {key: argument_of(arguments, names, key, place) for place, key in enumerate(known)}
        if len(arguments) - len(names) > len(known) or not set(names) <= set(known):
            raise NoRow(f"{name} with other arguments")
        given = {key: value for key, value in given.items() if value is not None and not self.is_nothing(value)}
        for key in ("create_graph", "retain_graph"):
            if key in given and self.flag_of(given[key]) is False:
                del given[key]
        if not given or "grad_variables" in given:
            raise NoRow(f"{name} with other arguments")
        outputs = self.tensors_of_pass(given.pop(known[0], None), name)
        gradients = self.tensors_of_pass(given[known[1]], name) if known[1] in given else None
        if not all(output.object.requires_grad for output in outputs):
            raise NoRow(f"{name} of what has no tape")
        if gradients is not None and (
            len(gradients) != len(outputs) or any(gradient.object.requires_grad for gradient in gradients)
        ):
            raise NoRow(f"{name} with other gradients")
        self.knows_backward(callee, name, is_method)
        outside = self.tensors_from_outside()
        leaves = self.leaves_of_tape(name, outside)
        if "inputs" in given:
            leaves = self.leaves_asked_for(name, given["inputs"], leaves)
        before = [(leaf, self.gradient_at(leaf)) for leaf in leaves]
        flags = {key: True for key in ("retain_graph", "create_graph") if key in given}
        there = [value for _, value in before if not self.is_none(value)]
        if "create_graph" not in flags:
            self.check_gradients(name, there, outside)
        self.freed = []
        if not flags and "inputs" not in given:
            self.frees_tape(outputs)
        versions = [None if value.object is None else value.object._version for _, value in before]
        self.num_calls += 1
        self.num_saved += INSTRUCTIONS_OF_BACKWARD
        self.pending = self.constant(None)
        self.transformed = lambda _: self.see_backward(name, outputs, gradients, flags, before, versions)

    def tensors_of_pass(self, value, name):
        """The Values of a tensor, or of those in a list or tuple."""
        found = [value] if self.is_tensor(value) else self.parts_of(value) if self.is_sequence(value) else []
        if not found or not all(map(self.is_tensor, found)):
            raise NoRow(f"{name} of other than tensors")
        return [self.typed(each) for each in found]

    def leaves_asked_for(self, name, inputs, leaves):
        """Those of the leaves that `inputs=` names."""
        own = {leaf.register: leaf for leaf in leaves}
        wanted = [self.leaf(value, name) for value in self.tensors_to(inputs, name)]
        if any(leaf.register not in own for leaf in wanted):
            raise NoRow(f"{name} to other than leaves of its tape")
        return list({leaf.register: own[leaf.register] for leaf in wanted}.values())

    def knows_backward(self, callee, name, is_method):
        """Checks that what goes back is as torch wrote it."""
        self.has_code(BACKWARD_OF_TENSORS, BACKWARD_OF_TENSORS_CODE)
        if is_method:
            self.has_code(BACKWARD, BACKWARD_CODE)
            names_of_module = self.module_dict(self.constant(torch.autograd), torch.autograd.__dict__)
            function = self.dict_item(names_of_module, "backward", torch.autograd.__dict__["backward"])
            if function.object is not BACKWARD_OF_TENSORS:
                raise NoRow(f"{name} by another torch.autograd.backward")
            self.identical(function)
        self.identical(callee)
        self.check_untransformed()

    def is_nothing(self, value):
        return type(value) is Value and value.object is None and self.is_none(value)

    @staticmethod
    def is_plain_gradient(tensor):
        return tensor.layout is torch.strided and tensor.is_cpu and not tensor.is_quantized and not tensor.requires_grad

    def check_gradients(self, name, gradients, outside):
        """Checks that what a backward pass adds to is nothing that it reads, or adds to elsewhere."""
        if not all(self.is_plain_gradient(value.object) or value.register in self.copies for value in gradients):
            raise NoRow(f"{name} to a gradient of another kind")
        own = [self.register(value) for value in gradients]
        registers = [*own, *(register for register in outside if register not in own)]
        if own and not _C._have_own_memory(len(own), *[self.values[register].object for register in registers]):
            raise NoRow(f"{name} to a gradient in memory that something else is in")
        if own:
            self.require(_C._have_own_memory, len(own), registers)

    def leaves_of_tape(self, name, outside):
        """The leaves that a tape may lead to which the plan has recorded: each run checks that these are all."""
        steps, made = {step[1]: step for step in self.steps}, self.made_of_tensors()
        if any(self.is_computed(steps[register]) for register in outside) or self.calls_added():
            raise NoRow(f"{name} along what other functions compute")
        required = tuple(tensor.requires_grad for tensor in outside.values())
        own = self.leaves_made(name, made)
        if not _C._are_leaves(required, *outside.values()):
            raise NoRow(f"{name} along what was computed before, or with hooks")
        self.require_of_tape(_C._are_leaves, (required,), outside)
        leaves = {}
        for register, tensor in outside.items():
            if tensor.requires_grad:
                leaf = self.leaf(self.values[register], name)
                leaves[leaf.register] = leaf
        for register, value in own.items():
            leaves[register] = self.made_leaves.setdefault(register, value)
        return list(leaves.values())

    def leaves_made(self, name, made):
        """{register: Value} of the leaves among what the plan has made of tensors (the registers `made`)."""
        calls = {step[1]: self.values[step[2]].object for step in self.steps if step[0] == "Call"}
        found = {}
        for register in made:
            value = self.values.get(register)
            is_leaf = self.is_tensor(value) and value.object.requires_grad and value.object.is_leaf
            if not is_leaf or calls.get(register) is begin_tape:  # whose gradient is a transform's only
                continue
            root = self.written_first(register)  # what an operator in place returns is what it was given
            if root in self.names_of_leaves or (root not in made and self.is_read(root)):
                continue
            value = self.values.get(root)
            if not self.is_tensor(value) or root not in self.new or not value.object.is_leaf:
                raise NoRow(f"{name} to a leaf that the plan makes")
            found[root] = self.typed(value)
        return found

    def written_first(self, register):
        """The register of the tensor that a call has written to and returned."""
        while self.written.get(register, register) != register:
            register = self.written[register]
        return register

    def see_backward(self, name, outputs, weights, flags, before, versions):
        """The steps of a backward pass that has been, by what it has done to the leaves."""
        if "create_graph" in flags:
            self.see_taped(name, outputs, weights, flags, before)
            return
        reached = []
        for (leaf, value), version in zip(before, versions, strict=True):
            now = leaf.object.grad
            if now is not value.object and (value.object is not None or type(now) is not torch.Tensor):
                raise NoRow(f"{name} that gives a leaf another gradient")
            if now is not None and now._version != version:
                if not self.is_plain_gradient(now) and value.register not in self.copies:
                    raise NoRow(f"{name} to a gradient of another kind")
                reached.append((leaf, value, now))
        if not reached:
            raise NoRow(f"{name} that reaches no leaf")
        found = self.gradients_of([leaf for leaf, *_ in reached], [now for *_, now in reached], outputs, weights, flags)
        new = [
            (leaf, now, each) for (leaf, value, now), each in zip(reached, found, strict=True) if value.object is None
        ]
        if new:
            self.gives_gradients(*zip(*new, strict=True))
        for (_, value, _), each in zip(reached, found, strict=True):
            if value.object is not None:
                self.adds_to(value, each)

    def see_taped(self, name, outputs, weights, flags, before):
        """The same of a pass that records a tape: gradients that are there are added to out of place."""
        reached = [(leaf, value, leaf.object.grad) for leaf, value in before if leaf.object.grad is not value.object]
        if not reached:
            raise NoRow(f"{name} that reaches no leaf")
        if not all(type(now) is torch.Tensor and now.layout is torch.strided and now.is_cpu for *_, now in reached):
            raise NoRow(f"{name} that gives a leaf another gradient")
        found = self.gradients_of([leaf for leaf, *_ in reached], [now for *_, now in reached], outputs, weights, flags)
        copy = self.constant(copy_of_gradient)
        for (leaf, value, now), gradient in zip(reached, found, strict=True):
            if value.object is None:
                inputs = [self.register(gradient), leaf.register]
                register = self.compute("Call", self.register(copy), inputs=inputs, owned=True)
            else:
                inputs = [self.register(gradient)]
                register = self.compute("Binary", self.register(value), 0, inputs=inputs, owned=True)
            self.new.add(register)
            self.copies.add(register)
            self.values[register] = Value(register, now)
            self.store_gradient(leaf, self.typed(self.values[register]))

    def gradients_of(self, leaves, examples, outputs, weights, flags):
        """Values of what torch.autograd.grad computes for leaves; `examples` are as these are. `weights`: the gradients of
        the outputs, None for ones."""
        inputs = [self.emit("List", inputs=[self.register(each) for each in values]) for values in (outputs, leaves)]
        names = ["outputs", "inputs"]
        if weights is not None:
            names.append("grad_outputs")
            inputs.append(self.emit("List", inputs=[self.register(each) for each in weights]))
        for key, flag in flags.items():
            names.append(key)
            inputs.append(self.register(self.constant(flag)))
        function = self.register(self.constant(GRAD))
        result = self.compute("Call", function, object=tuple(names), inputs=inputs)
        for run in self.freed:
            run.freed_by = result
        self.freed = []
        return self.parts_made(result, tuple([torch.empty_like(example) for example in examples]))

    def parts_made(self, register, objects):
        """The Values of the tensors in a tuple or list that a call returns."""
        self.values[register] = Value(register, objects, typed=True)
        items = [self.item(self.values[register], place) for place in range(len(objects))]
        for item in items:
            self.values[item.register] = item
            self.typed(item)
        return items

    def gives_gradients(self, leaves, tensors, gradients):
        """Leaves that had none get gradients, in memory of their own."""
        inputs = [self.register(each) for each in (*leaves, *gradients)]
        result = self.emit("Call", self.register(self.constant(_C._as_gradients)), inputs=inputs)
        self.owned.add(result)
        for leaf, value in zip(leaves, self.parts_made(result, list(tensors)), strict=True):
            self.store_gradient(leaf, value)

    def adds_to(self, value, gradient):
        """`.grad += gradient`, off the tape."""
        self.modes.append(("grad", False))
        try:
            self.call_functional(self.constant(ADD), [value, gradient], ())
        finally:
            self.modes.pop()
        self.see(self.pending, value.object)
        self.pending = None
