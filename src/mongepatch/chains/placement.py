"""Where chains are: their numbers among all chains of a run, and the devices that they are divided among."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

AXIS = "chain"
"""The axis of a mesh along which chains are divided."""


@dataclass(frozen=True)
class Placement:
    """The number of the first chain, and a mesh with the axis "chain", where there are several devices."""

    offset: int = 0
    mesh: Mesh | None = None

    @property
    def devices(self) -> int:
        """How many devices there are, each with as many chains as any other."""
        return 1 if self.mesh is None else self.mesh.size

    def numbers(self, chains: int) -> jax.Array | np.ndarray:
        """The numbers of so many chains, by which their randomness is made."""
        placed: jax.Array | np.ndarray = self.placed(np.arange(self.offset, self.offset + chains, dtype=np.int32))
        return placed

    def placed(self, points: Any) -> Any:
        """Arrays with a leading axis for chains, divided among the devices; those that are already stay."""
        return points if self.mesh is None else jax.device_put(points, self._sharding)

    def shared(self, policy: Any) -> Any:
        """Arrays that all devices have: placed alike for all chunks, so that nothing compiles again."""
        return policy if self.mesh is None else jax.device_put(policy, NamedSharding(self.mesh, PartitionSpec()))

    def shapes(self, points: Any) -> Any:
        """The same of shapes."""
        if self.mesh is None:
            return points
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(
                leaf.shape, leaf.dtype, sharding=self._sharding, weak_type=leaf.weak_type
            ),
            points,
        )

    @property
    def _sharding(self) -> Any:
        assert self.mesh is not None  # or nothing would be divided
        return NamedSharding(self.mesh, PartitionSpec(AXIS))


def on_each_device(
    run: Callable[..., Any],
    mesh: Mesh | None,
    points: Any,
    numbers: jax.Array,
    shared: Any,
    out: tuple[bool | None, ...],
) -> Any:
    """`run(points, numbers, shared)` for the chains of each device, which do not wait for those of others.

    Args:
        run: a function of points and numbers of some chains, and of what all chains share.
        mesh: the devices; None for one.
        points: a pytree of arrays with a leading axis for chains.
        numbers: the numbers of chains.
        shared: what is the same on all devices.
        out: for each result, whether its arrays have a leading axis for chains, or None for axes (draw, chain); False
            for what is the same on all devices.
    """
    if mesh is None:
        return run(points, numbers, shared)
    specs = {True: PartitionSpec(AXIS), None: PartitionSpec(None, AXIS), False: PartitionSpec()}
    return jax.shard_map(
        run,
        mesh=mesh,
        in_specs=(specs[True], specs[True], specs[False]),
        out_specs=tuple(specs[axis] for axis in out),
        check_vma=False,
    )(points, numbers, shared)


def of_all_chains(values: jax.Array, mesh: Mesh | None, wanted: Any) -> jax.Array:
    """Values of the chains of this device, and of all others in their order.

    So what is computed from them is the same on every device, and as on one. Where it is not wanted there is no
    exchange, and the values are meaningless.
    """
    if mesh is None:
        return values
    count = mesh.size

    def gathered(values: jax.Array) -> jax.Array:
        return jax.lax.all_gather(values, AXIS, tiled=True)

    found: jax.Array = jax.lax.cond(wanted, gathered, lambda values: jax.numpy.tile(values, count), values)
    return found
