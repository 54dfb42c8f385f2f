"""Models that are hard as one writes them first, and some that are not."""

from pathlib import Path

from mongepatch._extras import require
from mongepatch.bench.patches.problems.base import Model, Problem

__all__ = ["Model", "Problem", "hard_problems", "regular_problems"]


def hard_problems(folder: Path | None = None) -> list[Problem]:
    """Models with scales to be found; those of posteriordb where there is a folder of it."""
    require("numpyro", "numpyro", "The bench of patches")
    from mongepatch.bench.patches.problems import funnels, groups, horseshoe, posteriordb, schools, slopes, volatility

    families = (schools, funnels, groups, slopes, horseshoe, volatility)
    found = [problem for family in families for problem in family.problems()]
    return found if folder is None else found + posteriordb.problems(folder)


def regular_problems(folder: Path | None = None) -> list[Problem]:
    """Models without hard geometry."""
    require("numpyro", "numpyro", "The bench of patches")
    from mongepatch.bench.patches.problems import regular

    return regular.problems(folder)
