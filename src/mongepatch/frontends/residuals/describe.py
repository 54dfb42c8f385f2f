"""A model in words: its random variables, and the residual that each one got."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from mongepatch.frontends.residuals.registry import family_of

_SHAPES = ("ExpandedDistribution", "Independent", "MaskedDistribution")


class Line(NamedTuple):
    """What is told of a random variable."""

    name: str
    distribution: str
    kind: str
    """`latent`, `observed` or `factor`."""
    shape: tuple[int, ...]
    residuals: int
    """How many residuals it has."""
    formula: str


def describe(variables: Iterable[Line]) -> str:
    """One line a variable: name, distribution, shape, what it is, and its residual."""
    lines = list(variables)
    table = [
        (line.name, line.distribution, f"{line.kind}, shape {line.shape}" if any(line.shape) else line.kind)
        for line in lines
    ]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    told = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=True)), _residuals(line)])
        for row, line in zip(table, lines, strict=True)
    ]
    return "\n".join(
        [*told, f"{sum(line.residuals for line in lines)} residuals in all, of what the parameters touch."]
    )


def _residuals(line: Line) -> str:
    return (
        f"{line.residuals} residual{'s' * (line.residuals != 1)}: {line.formula}" if line.residuals else "no residual"
    )


def distribution_name(fn: Any) -> str:
    """A distribution's name, without what says only how many of them there are."""
    name = type(fn).__name__
    return distribution_name(fn.base_dist) if name in _SHAPES else name


def formula_of(fn: Any, latent: bool) -> str:
    """The formula of the distribution that the residual is made from; its x is the value before transforms."""
    inner = fn
    while not family_of(inner).formula:
        inner = inner.base_dist
    family = family_of(inner)
    formula = family.formula if latent or not family.of_data else f"{family.formula}, and {family.of_data}"
    if distribution_name(fn) == distribution_name(inner):
        return formula
    return f"{formula}, of the {distribution_name(inner)} that it is made of"
