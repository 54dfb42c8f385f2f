"""Expressions in words: the mathematics of a program, as short as a person wants to read it."""

from collections.abc import Callable

import numpy as np

from mongepatch.program.squares.expression import Expression, Graph

MOST_CHARACTERS = 60
"""Length beyond which an expression is abbreviated to what it depends on."""
_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_TRANSPARENT_NAMES = """
    reshape broadcast_in_dim broadcast_to convert_element_type stop_gradient transpose
"""
_TRANSPARENT = frozenset(_TRANSPARENT_NAMES.split())
_SIGNS = {"add": (" + ", _SUM), "sub": (" - ", _SUM), "mul": ("·", _PRODUCT), "div": ("/", _PRODUCT)}

Label = Callable[[int, int], str]
"""The name of the parameters from one place of the flat position to another."""


def words(graph: Graph, expression: Expression, label: Label) -> str:
    """An expression as a person would write it."""
    return _Writer(graph, label).write(expression)[0]


def places(expression: Expression) -> list[tuple[int, int]]:
    """The parts of the flat position that an expression depends on, as places of their first and last elements."""
    found, stack, seen = set(), [expression], set()
    while stack:
        e = stack.pop()
        if e in seen or not e.depends:
            continue
        seen.add(e)
        if (part := _part(e)) is not None:
            found.add(part)
        else:
            stack.extend(e.inputs)
    return sorted(found)


def _part(e: Expression) -> tuple[int, int] | None:
    """Places of a part of the position; None for anything else."""
    if e.name == "input":
        return 0, e.size
    if e.name == "slice" and e.inputs[0].name == "input" and len(e.shape) == 1:
        return e.params["start_indices"][0], e.params["limit_indices"][0]
    return None


class _Writer:
    """Writes expressions, with the strength by which their outermost operation binds."""

    def __init__(self, graph: Graph, label: Label) -> None:
        self._graph, self._label = graph, label
        self._written: dict[Expression, tuple[str, int]] = {}

    def write(self, e: Expression) -> tuple[str, int]:
        if e not in self._written:
            text, strength = self._text(e)
            if len(text) > MOST_CHARACTERS:
                text, strength = self._abbreviated(e), _ATOM
            self._written[e] = text, strength
        return self._written[e]

    def _abbreviated(self, e: Expression) -> str:
        names = list(dict.fromkeys(self._label(*part) for part in places(e)))
        shown = names if len(names) < 6 else [*names[:4], "…", names[-1]]
        return f"f({', '.join(shown)})"

    def _in(self, e: Expression, least: int) -> str:
        text, strength = self.write(e)
        return text if strength >= least else f"({text})"

    def _text(self, e: Expression) -> tuple[str, int]:
        if (part := _part(e)) is not None:
            return self._label(*part), _ATOM
        if not e.depends:
            return self._number(e)
        if e.name in _TRANSPARENT:
            return self.write(e.inputs[0])
        if e.name in _SIGNS:
            return self._binary(e)
        if e.name == "neg":
            return f"-{self._in(e.inputs[0], _PRODUCT)}", _SUM
        if e.name == "square" or e.name == "integer_pow":
            power = 2 if e.name == "square" else e.params["y"]
            return f"{self._in(e.inputs[0], _ATOM)}^{power}", _POWER
        if e.name == "dot_general":
            return "·".join(self._in(given, _POWER) for given in e.inputs[:2]), _PRODUCT
        if e.name in ("slice", "gather", "dynamic_slice"):
            return f"{self._in(e.inputs[0], _ATOM)}[…]", _ATOM
        if e.name == "triangular_solve":
            return f"solve({self.write(e.inputs[0])[0]}, {self.write(e.inputs[1])[0]})", _ATOM
        if e.name in ("item", "turns", "scan", "select_n", "custom_jvp_call", "custom_vjp_call"):
            return self._abbreviated(e), _ATOM
        arguments = ", ".join(self.write(given)[0] for given in e.inputs)
        return f"{e.name}({arguments})", _ATOM

    def _binary(self, e: Expression) -> tuple[str, int]:
        sign, strength = _SIGNS[e.name]
        one, two = e.inputs
        if e.name in ("add", "sub") and self._is_zero(two):
            return self.write(one)
        right = strength + 1 if e.name in ("sub", "div") else strength
        return f"{self._in(one, strength)}{sign}{self._in(two, right)}", strength

    def _is_zero(self, e: Expression) -> bool:
        values = None if e.depends else self._graph.numbers(e)
        return values is not None and not values.any()

    def _number(self, e: Expression) -> tuple[str, int]:
        values = self._graph.numbers(e)
        if values is None or not values.size or not (values == values.reshape(-1)[0]).all():
            return "data", _ATOM
        number = np.asarray(values.reshape(-1)[0]).item()
        return f"{number:.4g}", _ATOM if number >= 0 else _SUM
