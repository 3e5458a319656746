"""Calls of the compiled core with arguments that nobody should pass: no call may crash or hang.

Every function, and every method of a class, is found, with the types of its arguments, by what the
module says of itself. Most arguments of a call fit each other, by their names; some are damaged.
Arrays end, or begin, where memory that nobody may touch does, so that a step beyond is noticed.

    python -m tests.fuzz.core --cases 1000000
"""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rankloop import _core

from .damage import damaged, guarded
from .harness import main
from .world import World

DAMAGED = 0.04  # of the arguments, each in a way of its own
PLAIN = 0.7  # of the calls have no damaged argument: else little would come past the checks
REFUSED = (TypeError, ValueError, MemoryError, OverflowError, RuntimeError, IndexError)


@dataclass(frozen=True)
class Function:
    """What to call with which arguments: a function, or a method of what `owner` makes.

    makes : the class that its methods are sought in, if it makes an object
    """

    name: str
    call: Any
    parameters: tuple[tuple[str, str], ...]
    owner: Function | None = None
    makes: type | None = None


@cache
def functions():
    """Every function and method there is; each overload counts."""
    found = []
    for name, thing in inspect.getmembers(_core, lambda thing: not inspect.ismodule(thing)):
        if name.startswith("_") or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        if inspect.isclass(thing):
            if signature := getattr(thing.__init__, "__nb_signature__", None):
                made = Function(name, thing, parameters(signature[0][0]), makes=thing)
                found += [made, *methods(made)]
            continue
        overloads = [parameters(text) for text, *_ in thing.__nb_signature__]
        found += [Function(f"{name}/{i}" if i else name, thing, p) for i, p in enumerate(overloads)]
    for maker in [function for function in found if function.owner and function.makes]:
        found += methods(maker)
    return found


def methods(made):
    """The methods and properties of what a function makes."""
    for name in filter(lambda name: not name.startswith("_"), dir(made.makes)):
        method, label = getattr(made.makes, name), f"{made.makes.__name__}.{name}"
        if isinstance(method, property):
            yield Function(label, method.fget, (), made)
        else:
            signature = method.__nb_signature__[0][0]
            yield Function(label, method, parameters(signature), made, made_by(signature))


def made_by(signature):
    """The class of the core that a method returns, if it does."""
    module, _, name = signature.rpartition(" -> ")[2].rpartition(".")
    return getattr(_core, name) if module == _core.__name__ else None


def parameters(signature):
    """The names and types of a signature's parameters, without self."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    found, depth, start = [], 0, 0
    for i, letter in enumerate(inside + ","):
        depth += letter in "[(" or -(letter in "])")
        if letter == "," and depth == 0:
            name, _, kind = inside[start:i].strip().partition(": ")
            start = i + 1
            if name not in ("self", "*"):
                found.append((name, kind.partition(" = ")[0]))
    return tuple(found)


def arguments(world, function, plain=PLAIN):
    """Arguments by name; in some calls some of them are damaged."""
    world.function = function.name.partition("/")[0]
    given = {name: world.argument(name, kind) for name, kind in function.parameters}
    if world.rng.random() > plain:
        share = world.rng.choice([DAMAGED, 0.2, 0.5])
        for name in given:
            if world.rng.random() < share:
                given[name] = damaged(world.rng, given[name], name)
    return {name: guarded(value, world.rng) for name, value in given.items()}


def called(function, world, plain=PLAIN):
    """Call a function; for a method, make the object and call some of its methods first."""
    if function.owner is None:
        return function.call(**arguments(world, function, plain))
    made = called(function.owner, world, plain=0.9)
    others = list(methods(function.owner))
    for other in world.rng.choice(others, int(world.rng.integers(0, 2 * len(others)))):
        with contextlib.suppress(*REFUSED):
            other.call(made, **arguments(world, other))
    return function.call(made, **arguments(world, function, plain))


def label(case):
    """The function that a case calls."""
    return functions()[case % len(functions())].name


def outcome(case, folder):
    """Make one call, and tell whether it was done or refused."""
    function = functions()[case % len(functions())]
    world = World(np.random.default_rng([case, 1]))
    try:
        called(function, world)
    except NotImplementedError:  # by the fuzzer: an argument of a type that is new to it
        raise
    except REFUSED:
        return f"{function.name}: refused"
    except OSError:
        return f"{function.name}: its source failed"
    return f"{function.name}: done"


if __name__ == "__main__":
    main()
