"""NumPyro models that are hard to sample in their centred form, and some that are easy."""

from pathlib import Path

from benchmarks.patches.problems.base import ModelFunction, NumpyroProblem
from mongepatch._extras import require

__all__ = ["ModelFunction", "NumpyroProblem", "hard_problems", "regular_problems"]


def hard_problems(folder: Path | None = None) -> list[NumpyroProblem]:
    """Models with unknown scales, and those of posteriordb where a folder has their data."""
    require("numpyro", "numpyro", "The benchmark of patches")
    from benchmarks.patches.problems import funnels, groups, horseshoe, schools, slopes, volatility
    from benchmarks.posteriordb import numpyro_models

    families = (schools, funnels, groups, slopes, horseshoe, volatility)
    found = [problem for family in families for problem in family.problems()]
    return found if folder is None else found + numpyro_models.problems(folder, numpyro_models.HIERARCHIES)


def regular_problems(folder: Path | None = None) -> list[NumpyroProblem]:
    """Models without hard geometry."""
    require("numpyro", "numpyro", "The benchmark of patches")
    from benchmarks.patches.problems import regular

    return regular.problems(folder)
