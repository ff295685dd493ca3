"""Rows of frame capture for calls of modules, with the hooks that run before and after `forward`. Part of `_recording.py`."""

import types
from collections import OrderedDict

import torch

from ._hooks import hook_inputs
from ._recording_values import (
    GLOBAL_HOOKS,
    INSTRUCTIONS_OF_MODULE_CALL,
    MODULE_CALL,
    MODULE_CODES,
    MODULE_HOOKS,
    NULL,
    BoundMethod,
    Fresh,
    Keywords,
    NoRow,
    Value,
    is_object,
)

FORWARD_HOOKS = ("_forward_pre_hooks", "_forward_hooks")


class Modules:
    """What a recorder does for calls of modules."""

    def call_module(self, view, frame, callee, arguments, names, plainly=False):
        """`plainly`: as nn.Module.__call__ does, whatever the class has."""
        if not isinstance(callee, Value) or not issubclass(type(callee.object), torch.nn.Module):
            raise NoRow("a call of nn.Module.__call__ with other arguments")
        own = self.class_attribute(callee, "__call__")
        if not plainly and own is not MODULE_CALL["__call__"] and type(own) is types.FunctionType:
            register = self.emit("ClassItem", self.register(callee), object="__call__")
            self.call_function(Value(register, own), [callee, *arguments], names)
            return
        for name, function in MODULE_CALL.items():
            if plainly and name == "__call__":
                self.has_code(function, MODULE_CODES[name])
                continue
            if self.class_attribute(callee, name) is not function or function is None:
                raise NoRow(f"a module with a {name} of its own")
            self.has_code(function, MODULE_CODES[name])
        if self.class_attribute(callee, "_compiled_call_impl") is not None:
            raise NoRow("a module that is compiled by others")
        forward = self.class_attribute(callee, "forward")
        if type(forward) is not types.FunctionType:
            raise NoRow("a module whose forward is no function")
        members = callee.object.__dict__
        for name in ("forward", "_compiled_call_impl", "__call__", "_call_impl", "_wrapped_call_impl"):
            self.lacks(callee, name)
            if name in members:
                raise NoRow(f"a module with a {name} of its own")
        hooks = {name: self.dict_item(self.instance_dict(callee), name, members[name]) for name in MODULE_HOOKS}
        before, after = (hooks.pop(name) for name in FORWARD_HOOKS)
        self.no_global_hooks()
        backward = self.backward_hooks_of(callee, hooks.values())
        self.num_saved += INSTRUCTIONS_OF_MODULE_CALL
        function = Value(self.emit("ClassItem", self.register(callee), object="forward"), forward)
        if backward is not None or any(type(each.object) is OrderedDict and each.object for each in (before, after)):
            self.call_with_hooks(view, frame, callee, function, (before, after), backward, arguments, names)
            return
        self.no_hooks(before)
        self.no_hooks(after)
        self.call_inline(function, [callee, *arguments], names)

    def call_with_hooks(self, view, frame, module, forward, hooks, backward, arguments, names):
        """What nn.Module._call_impl does where there are hooks: one call after another. `backward`: the register of what sets
        up backward hooks, or None."""
        members = module.object.__dict__
        groups = [
            self.dict_item(self.instance_dict(module), name, members[name])
            for name in ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
        ]
        self.no_hooks(groups.pop())
        count = len(arguments) - len(names)
        given = [Fresh(tuple, arguments[:count]), Keywords(dict(zip(names, arguments[count:], strict=True)))]
        if not all(map(is_object, arguments)):
            raise NoRow("an iterator as an argument")
        before, after = (self.hooks_of(*pair) for pair in zip(hooks, groups, strict=True))

        def run(function, arguments, names, then):
            self.call_of(view, frame, function, arguments, names)
            if self.entering is None:
                return then(self.pending if is_object(self.pending) else NULL)
            if self.entering.finish is not None or self.entering.result is not None or self.entering.drops:
                raise NoRow("a hook that is no function")
            self.entering.finish = then
            return None

        def run_before():
            if not before:
                if backward is not None:
                    given[0] = Fresh(tuple, self.hooked(hook_inputs, backward, given[0].items))
                args, kwargs = given
                given_now = [*args.items, *kwargs.items.values()]
                return run(BoundMethod(forward, module), given_now, tuple(kwargs.items), run_after)
            hook, with_keywords = before.pop(0)
            arguments = [module, *given[: 1 + with_keywords]]
            return run(hook, arguments, (), lambda found: take_before(found, with_keywords))

        def take_before(found, with_keywords):
            self.result_of_hook(found)
            if self.is_none(found):
                pass
            elif with_keywords:
                if type(found) is not Fresh or found.kind is not tuple or len(found.items) != 2:
                    raise NoRow("a hook that returns other than arguments and keyword arguments")
                args, kwargs = found.items
                given[:] = Fresh(tuple, list(self.parts_of(args))), Keywords(dict(self.keywords_of(kwargs)))
            else:
                is_tuple = self.is_sequence(found) and getattr(found, "kind", type(found.object)) is tuple
                if not is_tuple and (isinstance(found, Fresh) or issubclass(type(found.object), tuple)):
                    raise NoRow("a hook that returns a container of its own kind")
                given[0] = Fresh(tuple, list(self.parts_of(found)) if is_tuple else [found])
            return run_before()

        def run_after(result):
            self.result_of_hook(result)
            if not after:
                return result if backward is None else self.results_with_hooks(backward, result)
            hook, with_keywords = after.pop(0)
            arguments = [module, *given[: 1 + with_keywords], result]
            return run(hook, arguments, (), lambda found: take_after(found, result))

        def take_after(found, result):
            self.result_of_hook(found)
            return run_after(result if self.is_none(found) else found)

        self.pending = run_before()

    @staticmethod
    def result_of_hook(value):
        if not is_object(value):
            raise NoRow("a hook whose result is not known")

    def hooks_of(self, hooks, with_keywords):
        """[(hook, whether it gets keyword arguments)] of an OrderedDict of hooks, whose number is checked."""
        if type(hooks.object) is not OrderedDict or type(with_keywords.object) is not OrderedDict:
            raise NoRow("a module with hooks of its own kind")
        if not hooks.object:
            self.no_hooks(hooks)
            return []
        if not with_keywords.object:
            self.no_hooks(with_keywords)
        found = []
        for key, hook in self.pairs_of_ordered(hooks):
            gets_keywords = False
            if with_keywords.object:
                gets_keywords = self.has_key(with_keywords, key)
            found.append((hook, gets_keywords))
        return found

    def no_global_hooks(self):
        if ("no global hooks",) not in self.checked:
            self.checked[("no global hooks",)] = True
            globals = torch.nn.modules.module.__dict__
            register = self.register(self.constant(globals))
            for name in GLOBAL_HOOKS:
                self.no_hooks(self.dict_item(register, name, globals[name]))

    def no_hooks(self, hooks):
        if not issubclass(type(hooks.object), dict) or len(hooks.object):
            raise NoRow("a module with hooks")
        self.typed(hooks)
        self.whole(self.register(hooks))
        self.check("CheckSize", self.register(hooks), 0)
