"""The input and the output of a sampler."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from benchmarks.patches.problems import ModelFunction
from mongepatch import from_numpyro
from mongepatch.errors import SettingError
from mongepatch.sampling.variables import variables
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree

CHAINS, WARMUP = 4, 1000


@dataclass(frozen=True, eq=False)
class SamplerTask:
    """A model with its data."""

    model: ModelFunction
    data: tuple[Any, ...]

    @cached_property
    def target(self) -> Target:
        """The density on flat vectors, built once for all samplers and seeds."""
        return from_numpyro(self.model, *self.data)

    def starts(self, plan: "RunPlan") -> jax.Array:
        """Initial points (chains, D), for samplers that do not find their own."""
        if self.target.start is None:
            raise SettingError("The model has no rule for initial points.")
        return jax.vmap(self.target.start)(jax.random.split(jax.random.key(plan.seed), plan.chains))

    def variables(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Sites by name from flat positions [chain, draw, D]."""
        return variables(positions, self.target)


class RunPlan(NamedTuple):
    """Numbers of draws and chains, and the seed."""

    draws: int
    seed: int
    warmup: int = WARMUP
    chains: int = CHAINS


class SamplerOutcome(NamedTuple):
    """Draws with their cost, warm-up included."""

    variables: Mapping[str, np.ndarray]
    """Sites by name, [chain, draw, …]."""
    n_grad: int
    """Gradient-equivalents of all chains."""
    seconds: float
    """Without compilation."""
    compile_seconds: float
    divergences: int | None
    """None where a sampler does not report them."""
    least_seconds: float | None = None
    """Time of the gradients alone if compiled, for samplers that call back into Python."""
    remark: str = ""
    """The choices of the sampler, where it reports them."""

    @classmethod
    def of_tree(cls, tree: "DataTree", compile_seconds: float) -> "SamplerOutcome":
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
    """A sampler with its name in the tables."""

    name: str
    run: Callable[[SamplerTask, RunPlan], SamplerOutcome]
