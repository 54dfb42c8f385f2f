"""What to compare with: HMC and NUTS of BlackJAX, tuned by BlackJAX, behind the interface of `mongepatch.sample`.

Nothing is sampled here by code of our own. Targets, starting points and results are those of `mongepatch.sample`, so
that a comparison compares samplers: with the same seed, chains start at the same points.
"""

import time
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._extras import require
from mongepatch._keywords import checked_keywords
from mongepatch._typing import Count, LogDensity, PRNGKey, PyTree, Scalar, Vector
from mongepatch.metrics import Euclidean
from mongepatch.program import Program, jit
from mongepatch.sampling.output import tree_of
from mongepatch.sampling.prepare import prepare
from mongepatch.sampling.variables import variables
from mongepatch.targets import Target
from mongepatch.validation import fraction, whole_number

if TYPE_CHECKING:
    from xarray import DataTree

__all__ = ["hmc", "nuts"]


@checked_keywords
def nuts(
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    seed: int | jax.Array = 0,
    target_acceptance: float = 0.8,
    max_depth: int = 10,
    dense_mass: bool = False,
) -> "DataTree":
    """Draw from a density with BlackJAX's NUTS, its step size and mass found by BlackJAX's window adaptation.

    Every chain is adapted on its own. Chains run side by side, and each draw waits for the longest trajectory among
    them: compare gradients, `n_grad`, before seconds.

    Args:
        target: a log density of any pytree of parameters, or a `Target`, as for `mongepatch.sample`.
        init: one starting point, around which chains are dispersed, as for `mongepatch.sample`.
        draws: draws of each chain to keep.
        warmup: draws of each chain to adapt in, which are thrown away. With fewer than 20 the mass is not adapted.
        chains: number of chains.
        seed: an integer, or a `jax.random.key`.
        target_acceptance: the acceptance rate that the step size is adapted to.
        max_depth: how often a trajectory may be doubled.
        dense_mass: whether to adapt a dense mass matrix in the place of a diagonal one.

    Returns:
        A tree with the groups `posterior` and `sample_stats`, as `mongepatch.sample` makes it. `sample_stats` has `lp`,
        `acceptance_rate`, `step_size`, `n_steps`, `n_grad`, `diverging`, `energy`, `tree_depth` and
        `reached_max_treedepth`. Attributes of both groups are `sampler`, `tuning_steps`, `warmup_n_grad` (gradients of
        the adaptation, all chains together), and `warmup_time` and `sampling_time` in seconds, compilation excluded.

    Raises:
        MissingExtraError: BlackJAX is not installed.
        LogDensityError: the density cannot be sampled.
        ParameterError: the starting point is missing or is no pytree of real numbers.
        SettingError: a number is out of range.

    Example:
        >>> tree = mp.baselines.nuts(mp.targets.rosenbrock(2), warmup=200, draws=200)
    """
    method = _NUTS(whole_number("max_depth", max_depth))
    return _sample(method, target, init, draws, warmup, chains, seed, target_acceptance, dense_mass)


@checked_keywords
def hmc(
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    num_steps: int,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    seed: int | jax.Array = 0,
    target_acceptance: float = 0.8,
    dense_mass: bool = False,
) -> "DataTree":
    """Draw from a density with BlackJAX's HMC, its step size and mass found by BlackJAX's window adaptation.

    As `nuts`, but every trajectory has `num_steps` steps, and nothing is known of trees. The length does not vary: on a
    target whose paths are nearly periodic, such as a Gaussian, an unlucky one returns to where it began.

    Args:
        target: a log density of any pytree of parameters, or a `Target`, as for `mongepatch.sample`.
        init: one starting point, around which chains are dispersed, as for `mongepatch.sample`.
        num_steps: steps of a trajectory.
        draws: draws of each chain to keep.
        warmup: draws of each chain to adapt in, which are thrown away. With fewer than 20 the mass is not adapted.
        chains: number of chains.
        seed: an integer, or a `jax.random.key`.
        target_acceptance: the acceptance rate that the step size is adapted to.
        dense_mass: whether to adapt a dense mass matrix in the place of a diagonal one.

    Returns:
        A tree as of `nuts`. `sample_stats` has `lp`, `acceptance_rate`, `accepted`, `step_size`, `n_steps`, `n_grad`,
        `diverging` and `energy`.

    Raises:
        MissingExtraError: BlackJAX is not installed.
        LogDensityError: the density cannot be sampled.
        ParameterError: the starting point is missing or is no pytree of real numbers.
        SettingError: a number is out of range.

    Example:
        >>> tree = mp.baselines.hmc(mp.targets.rosenbrock(2), num_steps=20, warmup=200, draws=200)
    """
    method = _HMC(whole_number("num_steps", num_steps))
    return _sample(method, target, init, draws, warmup, chains, seed, target_acceptance, dense_mass)


class _Tuned(NamedTuple):
    """Where chains are after adaptation, and what was found in it; a leading axis of chains in every array."""

    state: Any
    step_size: Scalar
    inverse_mass: jax.Array
    n_steps: Count


@dataclass(frozen=True)
class _NUTS:
    """What is particular to NUTS: its setting, and what BlackJAX says of a draw."""

    max_depth: int
    name: ClassVar[str] = "nuts"

    @property
    def setting(self) -> dict[str, int]:
        return {"max_num_doublings": self.max_depth}

    def stats(self, info: Any, before: Any, tuned: _Tuned) -> dict[str, jax.Array]:
        finished = info.is_turning | info.is_divergent
        depth = info.num_trajectory_expansions
        return {
            "energy": info.energy,
            "tree_depth": depth,
            "reached_max_treedepth": (depth == self.max_depth) & ~finished,
        }


@dataclass(frozen=True)
class _HMC:
    """What is particular to HMC: its setting, and what BlackJAX says of a draw."""

    num_steps: int
    name: ClassVar[str] = "hmc"

    @property
    def setting(self) -> dict[str, int]:
        return {"num_integration_steps": self.num_steps}

    def stats(self, info: Any, before: Any, tuned: _Tuned) -> dict[str, jax.Array]:
        # BlackJAX gives the energy of the trajectory's end, accepted or not; `energy` is that of the draw.
        momentum, inverse_mass = info.momentum, tuned.inverse_mass
        velocity = inverse_mass * momentum if inverse_mass.ndim == 1 else inverse_mass @ momentum
        energy = jnp.where(info.is_accepted, info.energy, 0.5 * momentum @ velocity - before.logdensity)
        return {"energy": energy, "accepted": info.is_accepted}


_Method: TypeAlias = _NUTS | _HMC


def _sample(
    method: _Method,
    target: Target | LogDensity,
    init: PyTree,
    draws: int,
    warmup: int,
    chains: int,
    seed: int | jax.Array,
    target_acceptance: float,
    dense_mass: bool,
) -> "DataTree":
    blackjax = _blackjax()
    draws, warmup = whole_number("draws", draws), whole_number("warmup", warmup)
    rate = fraction("target_acceptance", target_acceptance)
    # The one precision that BlackJAX's adaptation works in.
    prepared = prepare(target, init, chains=chains, seed=seed, dtype=jnp.result_type(float))
    density = prepared.density
    points = prepared.initial_points(prepared.fitted(Euclidean()))

    adapt_keys, draw_keys = (_chain_keys(key, prepared.chains) for key in jax.random.split(prepared.keys.run))
    positions = points.position
    tuned, warmup_time = _timed(
        _adapt, adapt_keys, positions, density, rate, method=method, warmup=warmup, dense_mass=bool(dense_mass)
    )
    (positions, stats), sampling_time = _timed(_draw, draw_keys, tuned, density, method=method, draws=draws)
    attrs = {
        "inference_library": "blackjax",
        "inference_library_version": blackjax.__version__,
        "sampler": method.name,
        "sampling_time": sampling_time,
        "warmup_time": warmup_time,
        "tuning_steps": warmup,
        "warmup_n_grad": int(np.asarray(tuned.n_steps).sum(dtype=np.int64)),  # a leapfrog step takes one gradient
    }
    positions, stats = jax.tree.map(np.asarray, (positions, stats))
    return tree_of({"posterior": variables(positions, prepared.target), "sample_stats": stats}, prepared.target, attrs)


def _blackjax() -> ModuleType:
    return require("blackjax", "sample", "mongepatch.baselines")


def _chain_keys(key: PRNGKey, chains: int) -> PRNGKey:
    """A key for each chain, the same whatever the number of chains."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(chains))


def _timed(function: Any, *arguments: Any, **settings: Any) -> tuple[Any, float]:
    """What a function under `jax.jit` returns, and how long it took once it was compiled."""
    compiled = function.lower(*arguments, **settings).compile()
    started = time.perf_counter()
    result = jax.block_until_ready(compiled(*arguments))
    return result, time.perf_counter() - started


@partial(jit, static_argnames=("method", "warmup", "dense_mass"))
def _adapt(
    keys: PRNGKey,
    positions: jax.Array,
    density: Program,
    target_acceptance: Scalar,
    *,
    method: _Method,
    warmup: int,
    dense_mass: bool,
) -> _Tuned:
    """Adapt every chain on its own."""
    blackjax = _blackjax()
    adaptation = blackjax.window_adaptation(
        getattr(blackjax, method.name),
        density,
        is_mass_matrix_diagonal=not dense_mass,
        target_acceptance_rate=target_acceptance,
        adaptation_info_fn=lambda state, info, adaptation_state: jnp.asarray(info.num_integration_steps),
        **method.setting,
    )

    def chain(key: PRNGKey, position: Vector) -> _Tuned:
        (state, parameters), n_steps = adaptation.run(key, position, num_steps=warmup)
        return _Tuned(state, parameters["step_size"], parameters["inverse_mass_matrix"], n_steps)

    return jax.vmap(chain)(keys, positions)


@partial(jit, static_argnames=("method", "draws"))
def _draw(
    keys: PRNGKey, tuned: _Tuned, density: Program, *, method: _Method, draws: int
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Flat positions of draws and what there is to know of them, with leading axes (chain, draw)."""
    kernel = getattr(_blackjax(), method.name).build_kernel()

    def chain(key: PRNGKey, tuned: _Tuned) -> Any:
        def step(state: Any, number: Count) -> tuple[Any, Any]:
            new, info = kernel(
                jax.random.fold_in(key, number), state, density, tuned.step_size, tuned.inverse_mass, **method.setting
            )
            n_steps = jnp.asarray(info.num_integration_steps)
            stats = {
                "lp": new.logdensity,
                "acceptance_rate": info.acceptance_rate,
                "step_size": tuned.step_size,
                "n_steps": n_steps,
                "n_grad": n_steps,  # a leapfrog step takes one gradient
                "diverging": info.is_divergent,
                **method.stats(info, state, tuned),
            }
            return new, (new.position, stats)

        return jax.lax.scan(step, tuned.state, jnp.arange(draws))[1]

    return jax.vmap(chain)(keys, tuned)
