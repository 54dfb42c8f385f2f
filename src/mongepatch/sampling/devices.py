"""The devices that chains are divided among, as users name them."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from mongepatch._typing import LogDensity
from mongepatch.chains.placement import AXIS
from mongepatch.errors import SettingError
from mongepatch.validation import whole_number


def mesh_of(devices: Any, chains: int, density: LogDensity) -> Mesh | None:
    """The devices for so many chains, as a mesh; None for the default device alone.

    Args:
        devices: a number of this process's devices, a list of them, or None for all accelerators.
        chains: number of chains, which must be a multiple of the number of devices. Of all accelerators as many are
            taken as divide it.
        density: the log density. Where its arrays are on several devices already, computation follows them.
    """
    is_divided = any(len(leaf.sharding.device_set) > 1 for leaf in jax.tree.leaves(density) if _is_array(leaf))
    if devices is None:
        found = jax.local_devices()
        if is_divided or found[0].platform == "cpu":
            return None
        chosen: list[Any] = found[: max(n for n in range(1, len(found) + 1) if chains % n == 0)]
    else:
        chosen = _named(devices)
        if is_divided:
            raise SettingError(
                "The arrays of the density are divided among several devices already, and computation follows them: "
                "leave out devices."
            )
        if chains % len(chosen):
            fewer = max(n for n in range(1, len(chosen)) if chains % n == 0)
            more = -(-chains // len(chosen)) * len(chosen)
            raise SettingError(
                f"{chains} chains cannot be divided evenly among {len(chosen)} devices: give chains={more}, or "
                f"devices={fewer}."
            )
    return Mesh(np.array(chosen), (AXIS,)) if len(chosen) > 1 or isinstance(devices, Sequence) else None


def _named(devices: Any) -> list[Any]:
    """Devices by their number, or as they are listed."""
    if isinstance(devices, Sequence) and not isinstance(devices, str):
        listed = list(devices)
        here = jax.local_devices() + jax.local_devices(backend="cpu")
        if not listed or len({*listed}) < len(listed) or any(device not in here for device in listed):
            raise SettingError(
                f"devices must be a number, or a list of different devices of this process, as jax.local_devices() "
                f"has them; it is {devices!r}."
            )
        return listed
    count, found = whole_number("devices", devices), jax.local_devices()
    if count > len(found):
        hint = " Before JAX starts, XLA_FLAGS=--xla_force_host_platform_device_count=8 makes eight of a CPU."
        raise SettingError(
            f"devices={count}, and this process has {len(found)} of the kind {found[0].platform}."
            + (hint if found[0].platform == "cpu" else "")
        )
    return found[:count]


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)
