"""The state of chains as arrays, and back: what a later process needs to make the next draw, bit for bit.

Structures are never stored. They are made again from the same target and settings, and the stored arrays are put into
their places: a store holds numbers, and reading one runs no code.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch.chains import Tuning, points_at
from mongepatch.errors import MongepatchError, OtherRunError
from mongepatch.metrics import Monge, Patch, fitted
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.sampling.prepare import Prepared
from mongepatch.trajectories import NUTS, NUTSOrStatic, Static, nuts_of
from mongepatch.warmup import ToFind
from mongepatch.warmup.step_size import DualAveraging, FixedStepSize
from mongepatch.warmup.tree_depth import with_full_depth


@contextlib.contextmanager
def reading_a_run() -> Iterator[None]:
    """What is read here was written by somebody: where it makes no sense, say so."""
    try:
        yield
    except MongepatchError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise OtherRunError(f"The run cannot be read: {type(error).__name__}: {error}.") from error


def arrays_of(name: str, tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a pytree by name and number."""
    return {f"{name}.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.device_get(jax.tree.leaves(tree)))}


def tree_of_arrays(name: str, arrays: Mapping[str, np.ndarray], like: Any) -> Any:
    """The inverse of `arrays_of`, for a pytree like another; leaves that are not stored stay what they are there."""
    structure: Any
    leaves, structure = jax.tree.flatten(like)
    if any(key.startswith(f"{name}.") and int(key.rpartition(".")[2]) >= len(leaves) for key in arrays):
        raise OtherRunError(f"The run has more {name} than this target and these settings make.")
    return structure.unflatten([_leaf(arrays.get(f"{name}.{i}"), leaf) for i, leaf in enumerate(leaves)])


def _leaf(stored: np.ndarray | None, like: Any) -> Any:
    if stored is None:
        return like
    if isinstance(like, bool | int | float):  # a number of Python's has another type in JAX than an array
        return type(like)(stored)
    if stored.dtype != like.dtype or stored.ndim != len(like.shape):
        raise OtherRunError(
            f"The run has an array of type {stored.dtype} and {stored.ndim} axes, where this target and these settings "
            f"have {like.dtype} and {len(like.shape)}. Precision must be the same: see jax_enable_x64."
        )
    return on_device(stored)


def changed_arrays(name: str, tree: Any, template: Any) -> dict[str, np.ndarray]:
    """Of the leaves of a pytree, those that differ from a template's: data, which is the same, is left out."""
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(template), strict=True)
    changed = {f"{name}.{i}": (new, old) for i, (new, old) in enumerate(pairs) if new is not old}
    on_host = jax.device_get(changed)
    return {key: np.asarray(new) for key, (new, old) in on_host.items() if not _same(np.asarray(new), np.asarray(old))}


def _same(new: np.ndarray, old: np.ndarray) -> bool:
    return new.shape == old.shape and new.tobytes() == old.tobytes()


def kinds_of(tuning: Tuning, policy: Any, *, whitened: bool) -> dict[str, Any]:
    """What has to be made again to put arrays into."""
    return {
        "metric": type(tuning.metric).__name__,
        "trajectory": type(tuning.trajectory).__name__,
        "depth_limit": getattr(nuts_of(tuning.trajectory), "depth_limit", None) is not None,
        "policy": type(policy).__name__,
        "whitened": whitened,
    }


def template_density(prepared: Prepared, *, whitened: bool) -> Any:
    """The density before warm-up, in the coordinates that chains moved in after it."""
    return prepared.density if whitened else prepared.without_whitening().density


def template_tuning(tuning: Tuning, to_find: ToFind, prepared: Prepared, kinds: Mapping[str, Any]) -> Tuning:
    """Tuning parameters of the kinds that warm-up may change to, from those that it begins with."""
    return tuning._replace(
        metric=_template_metric(tuning.metric, to_find, prepared, kinds["metric"]),
        trajectory=_template_trajectory(tuning.trajectory, kinds["trajectory"], limited=kinds["depth_limit"]),
    )


def template_policy(kinds: Mapping[str, Any], chains: int, dtype: Any) -> Any:
    """A step size of either kind."""
    if kinds["policy"] == FixedStepSize.__name__:
        return FixedStepSize(on_device(1.0, dtype))
    return DualAveraging.around(1.0, 0.5, chains, dtype)


def template_points(positions: np.ndarray, density: Any, tuning: Tuning) -> Any:
    """Shapes of the points of chains."""
    return jax.eval_shape(points_at, positions, density, tuning.metric)


def _template_metric(first: Any, to_find: ToFind, prepared: Prepared, kind: str) -> Any:
    if type(first).__name__ == kind:
        return first
    if kind == "Monge":
        return fitted(Monge(1.0, first.inverse_mass), prepared.position)
    if kind == "Patch" and to_find.residuals is not None:
        base = Diagonal(on_device(np.ones(prepared.target.dimension), prepared.position.dtype))
        return fitted(Patch(to_find.residuals, 1.0, base), prepared.position)
    raise OtherRunError(f"The run has the metric {kind}, which these settings cannot lead to: give metric as it was.")


def _template_trajectory(first: Any, kind: str, *, limited: bool) -> Any:
    for candidate in (first, Static(1), NUTS(), NUTSOrStatic.trees(NUTS())):
        if type(candidate).__name__ == kind:
            return with_full_depth(candidate) if limited else candidate
    raise OtherRunError(f"The run has the trajectory {kind}: give trajectory as it was.")
