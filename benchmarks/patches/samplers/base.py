"""What a sampler is given, and what it gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mongepatch import from_numpyro
from mongepatch.bench.patches.problems import Model
from mongepatch.sampling.variables import variables
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree

CHAINS, WARMUP = 4, 1000


@dataclass(frozen=True, eq=False)
class Task:
    """A model with its data."""

    model: Model
    data: tuple[Any, ...]

    @cached_property
    def target(self) -> Target:
        """Its density on flat vectors, made once for all samplers and seeds."""
        return from_numpyro(self.model, *self.data)

    def variables(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Sites by name from flat positions [chain, draw, D]."""
        return variables(positions, self.target)


class Plan(NamedTuple):
    """How much to draw."""

    draws: int
    seed: int
    warmup: int = WARMUP
    chains: int = CHAINS


class Outcome(NamedTuple):
    """Draws, and what they cost with their warm-up."""

    variables: Mapping[str, np.ndarray]
    """Sites by name, [chain, draw, …]."""
    n_grad: int
    """Gradient-equivalents of all chains."""
    seconds: float
    """Without compilation."""
    compile_seconds: float
    divergences: int | None
    """None where a sampler does not know any."""
    least_seconds: float | None = None
    """What the gradients alone would take compiled, where the sampler calls back into Python for each."""
    remark: str = ""
    """What it chose, where it chooses."""

    @classmethod
    def of_tree(cls, tree: "DataTree", compile_seconds: float) -> "Outcome":
        """From a result of `mongepatch.sample` or `mongepatch.baselines`."""
        posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset()
        return cls(
            {str(name): np.asarray(values) for name, values in posterior.items()},
            int(stats["n_grad"].sum()) + int(posterior.attrs["warmup_n_grad"]),
            posterior.attrs["warmup_time"] + posterior.attrs["sampling_time"],
            compile_seconds,
            int(stats["diverging"].sum()),
        )


class Sampler(NamedTuple):
    """A way to draw."""

    name: str
    run: Callable[[Task, Plan], Outcome]
