"""What comes before any sampler: the target, its traced density, randomness, and where chains start."""

import operator
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._extras import require
from mongepatch._typing import LogDensity, PRNGKey, PyTree
from mongepatch.chains import Placement
from mongepatch.coordinates import MappedDensity, Whitening, whitening_of
from mongepatch.coordinates.batches import OtherCoordinates
from mongepatch.coordinates.mapped import may_be_mapped
from mongepatch.coordinates.outer import OuterMap
from mongepatch.errors import LogDensityError, ParameterError, SettingError
from mongepatch.metrics import Metric, check_answers, fitted
from mongepatch.program import Program, jit, trace_density
from mongepatch.sampling.checks import check_differentiable, check_names, check_smooth
from mongepatch.sampling.devices import mesh_of
from mongepatch.sampling.initial_points import check_per_chain, initial_points
from mongepatch.sampling.initial_values import InitialValues, initial_values, plain_values
from mongepatch.targets import Target
from mongepatch.targets.reading import with_read_residuals
from mongepatch.validation import number_at_least_zero, whole_number

_MOST_CHAINS = 2**31 - 1
"""Chains are numbered by integers of 32 bits."""


class Keys(NamedTuple):
    """Randomness of the parts of a run."""

    start: PRNGKey
    run: PRNGKey
    tune: PRNGKey
    whole: PRNGKey
    """The one that all are made from."""


@dataclass(frozen=True)
class Prepared:
    """A target that is ready to be sampled."""

    target: Target
    density: LogDensity
    """Its log density, traced; in other coordinates, where chains move in them."""
    whitening: Whitening | None
    """Whitened coordinates, where these are the others."""
    position: jax.ShapeDtypeStruct
    """Shape and precision of flat positions."""
    keys: Keys
    seed: int | list[int]
    """The seed, or the numbers of a key: given again, it makes the same draws."""
    chains: int
    init: InitialValues | None
    spread: float
    per_chain: bool
    placement: Placement
    """The number of the first chain, and devices."""

    @property
    def positions(self) -> jax.ShapeDtypeStruct:
        """Shape and precision of the positions of all chains."""
        return jax.ShapeDtypeStruct((self.chains, *self.position.shape), self.position.dtype)

    def without_whitening(self) -> "Prepared":
        """The same in the model's own coordinates."""
        density = self.density.density if isinstance(self.density, OtherCoordinates) else self.density
        return replace(self, density=density, whitening=None)

    def fitted(self, metric: Metric) -> Metric:
        """The metric in the target's dimension and precision; raise where the density is not smooth enough for it."""
        suited = fitted(metric, self.position)
        check_answers(suited, self.position)
        check_differentiable(self.density, suited, self.position)
        return suited

    def initial_points(self, metric: Metric) -> Any:
        """The metric's point where each chain starts."""
        return initial_points(
            self.keys.start,
            self.target,
            self.density,
            metric,
            self.init,
            self.placement.offset + np.arange(self.chains),
            spread=self.spread,
            per_chain=self.per_chain,
        )


def prepare(
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    chains: int = 4,
    chain_offset: int = 0,
    devices: Any = None,
    seed: int | jax.Array | None = 0,
    spread: float = 1.0,
    per_chain: bool = False,
    unconstrained: bool = False,
    residuals: Callable[[Any], Any] | None = None,
    data_residuals: Callable[[Any], Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    dtype: Any = None,
    whiten: bool = False,
    maps: bool = False,
    read: bool = False,
    patch: bool = False,
) -> Prepared:
    """Check what users give, and trace the density; the arguments are those of `sample`.

    Args:
        target: a log density, or a `Target`.
        init: one starting point, or one for each chain.
        chains: number of chains.
        chain_offset: the number of the first.
        devices: what chains are divided among.
        seed: an integer, or a `jax.random.key`; None for one that is drawn.
        spread: `init_spread`.
        per_chain: `init_per_chain`.
        unconstrained: `init_unconstrained`.
        residuals: a residual map of the user's own.
        data_residuals: the same of data.
        dims: names of the dimensions of each parameter.
        coords: labels along those dimensions.
        dtype: precision of flat positions, where it is not that of `init`.
        whiten: whether chains move in whitened coordinates, where the target has some.
        maps: whether coordinates may be made normal one by one, where a model has no whitened ones.
        read: whether residuals are read off the density, where the target has none.
        patch: whether a patch is asked for, of whatever residuals there are.
    """
    require("arviz_base", "sample", "Sampling")
    chains = whole_number("chains", chains)
    chain_offset = whole_number("chain_offset", chain_offset, least=0)
    if chain_offset + chains > _MOST_CHAINS:
        raise SettingError(f"chain_offset + chains must be at most {_MOST_CHAINS:,}.")
    spread = float(number_at_least_zero("init_spread", spread))
    seed = secrets.randbits(31) if seed is None else seed
    key = _key_of(seed)
    start, run, tune = _split(key)
    keys = Keys(start, run, tune, key)
    if isinstance(target, Target) and target.coordinates is not None:
        target, whiten = target.coordinates.target, True
    is_draw = hasattr(init, "data_vars")
    init = plain_values(init, target)
    if per_chain:
        check_per_chain(init, chains)
    example = jax.tree.map(lambda leaf: leaf[0], init) if per_chain else init
    target = _target_of(target, example, residuals, data_residuals, dims, coords)
    check_names(target)
    start = None
    if init is not None:
        start = initial_values(init, target, per_chain=per_chain, unconstrained=unconstrained, is_draw=is_draw)
    given = None if start is None else start.position
    if given is not None and dtype is not None:
        start = InitialValues(given.astype(dtype))
    if dtype is None:
        dtype = jnp.result_type(float) if given is None else given.dtype
    position = jax.ShapeDtypeStruct((target.dimension,), dtype)
    if residuals is not None and target.residuals is not None:
        check_smooth(target.residuals, position)
    traced = _traced(target, position, init, chains)
    if read:
        target = with_read_residuals(target, position, traced, partial=patch)
    whitening = whitening_of(target, position, traced) if whiten else None
    density: LogDensity = traced if whitening is None else whitening.initial
    if maps and whitening is None and may_be_mapped(target):
        density = MappedDensity(traced, OuterMap.identity(target.dimension, dtype))
    placement = Placement(chain_offset, mesh_of(devices, chains, density))
    recorded = _recorded(seed, key)
    return Prepared(target, density, whitening, position, keys, recorded, chains, start, spread, per_chain, placement)


def _about_init(error: Exception, target: Target, init: PyTree, chains: int) -> str:
    """What the starting point may have to do with a density that fails."""
    if isinstance(error.__cause__, KeyError):
        return f". The parameters are those of init: {list(target.layout.names)}."
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(init)]
    if shapes and all(shape[:1] == (chains,) for shape in shapes):
        if error.__cause__ is not None:
            return " If init has one starting point per chain, say so: init_per_chain=True."
        if _returns(target, (chains,)):
            return (
                " Or init has one starting point per chain: say so by init_per_chain=True, and the density is called "
                "with one of them at a time."
            )
    if any(isinstance(node, list) for node in jax.tree.leaves(init, is_leaf=lambda node: isinstance(node, list))):
        return " init has a list, whose entries are parameters of their own: for one array write jnp.array([…])."
    return ""


def _returns(target: Target, shape: tuple[int, ...]) -> bool:
    """Whether a density, which can be traced, returns an array of this shape."""
    value = jax.eval_shape(target.logdensity, jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float)))
    return getattr(value, "shape", None) == shape


@partial(jit, quick=True)
def _split(key: PRNGKey) -> tuple[PRNGKey, ...]:
    """Randomness of the parts of a run."""
    return tuple(jax.random.split(key, 3))


def _traced(target: Target, position: jax.ShapeDtypeStruct, init: PyTree, chains: int) -> Program:
    """The density as JAX traced it; raise where it fails, and say what `init` may have to do with it."""
    try:
        return trace_density(target.logdensity, position)
    except LogDensityError as error:
        raise LogDensityError(f"{error}{_about_init(error, target, init, chains)}") from error.__cause__


def _recorded(seed: Any, key: PRNGKey) -> int | list[int]:
    """A seed as attributes of a result hold it."""
    try:
        return operator.index(seed)
    except TypeError:
        return [int(number) for number in np.asarray(jax.random.key_data(key))]


def _key_of(seed: Any) -> PRNGKey:
    """A key from an integer, or a key as it is."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key) and seed.ndim == 0:
        return seed
    if isinstance(seed, list | np.ndarray) and np.ndim(seed) == 1:  # of the attributes of a result
        seed = jnp.asarray(np.asarray(seed), jnp.uint32)
    if isinstance(seed, jax.Array) and seed.dtype == jnp.uint32 and seed.ndim == 1:
        return jax.random.wrap_key_data(seed)  # of jax.random.PRNGKey
    try:
        return jax.random.key(operator.index(seed))
    except (TypeError, OverflowError) as error:
        raise SettingError(
            f"seed must be an integer of at most 64 bits or one jax.random.key; it is {seed!r}."
        ) from error


def _target_of(
    target: Target | LogDensity,
    example: PyTree,
    residuals: Callable[[Any], Any] | None,
    data_residuals: Callable[[Any], Any] | None,
    dims: Mapping[str, Sequence[str]] | None,
    coords: Mapping[str, Sequence[Any]] | None,
) -> Target:
    """A target from a density and a point of its parameters, or a target as it is; with more names, if given."""
    if not callable(target):
        from_pymc = ": give mp.from_pymc(model)" if type(target).__module__.startswith("pymc") else ""
        raise LogDensityError(f"target must be a log density or a Target; it is a {type(target).__name__}{from_pymc}.")
    if not isinstance(target, Target):
        if example is None:
            raise ParameterError(
                "Give init, one point of the log density's parameters: it says their names and shapes. A NumPyro model "
                "needs none: give mp.from_numpyro(model, *data)."
            )
        target = Target.from_density(target, example)
    if residuals is not None:
        target = target.with_residuals(residuals, data_residuals)
    elif data_residuals is not None:
        raise SettingError("data_residuals come with residuals, those of the latent variables.")
    for name, given in (("dims", dims), ("coords", coords)):
        if not isinstance(given, Mapping | None):
            raise ParameterError(f"{name} must be a dict; it is {given!r}.")
    return replace(target, dims={**target.dims, **(dims or {})}, coords={**target.coords, **(coords or {})})
