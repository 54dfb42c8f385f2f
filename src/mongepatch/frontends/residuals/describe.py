"""The description of a model: its random variables, and the residual of each."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from mongepatch.frontends.residuals.registry import family_of

_SHAPE_WRAPPERS = ("ExpandedDistribution", "Independent", "MaskedDistribution")


class VariableDescription(NamedTuple):
    """What `Target.describe` says about a random variable."""

    name: str
    distribution: str
    kind: str
    """`latent`, `observed` or `factor`."""
    shape: tuple[int, ...]
    residual_count: int
    formula: str


def describe(variables: Iterable[VariableDescription]) -> str:
    """A text with one line per variable: name, distribution, kind, shape and residuals."""
    rows = list(variables)
    table = [
        (row.name, row.distribution, f"{row.kind}, shape {row.shape}" if any(row.shape) else row.kind) for row in rows
    ]
    widths = [max(len(cells[column]) for cells in table) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)), _residuals(row)])
        for cells, row in zip(table, rows, strict=True)
    ]
    total = sum(row.residual_count for row in rows)
    return "\n".join([*lines, f"{total} residuals in total; those that do not depend on the parameters are left out."])


def _residuals(row: VariableDescription) -> str:
    count = row.residual_count
    return f"{count} residual{'s' * (count != 1)}: {row.formula}" if count else "no residual"


def distribution_name(fn: Any) -> str:
    """A distribution's name, without wrappers that only change its shape or hide some of its copies."""
    name = type(fn).__name__
    return distribution_name(fn.base_dist) if name in _SHAPE_WRAPPERS else name


def formula_of(fn: Any, latent: bool) -> str:
    """The formula of a distribution's residual, or of its base distribution's; x is then the value there."""
    base = fn
    while not family_of(base).formula:
        base = base.base_dist
    family = family_of(base)
    formula = family.formula if latent or not family.of_data else f"{family.formula}, and {family.of_data}"
    if distribution_name(fn) == distribution_name(base):
        return formula
    return f"{formula}, of its base distribution {distribution_name(base)}"
