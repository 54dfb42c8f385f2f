"""Names of the scalars in draws of arrays, counted from 0 or as Stan counts them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Draws: TypeAlias = Mapping[str, np.ndarray]
"""Draws [chain, draw, …] by name."""
Index: TypeAlias = tuple[Any, ...]


def scalars(draws: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Every scalar of draws [chain, draw, …], its index counted from 0: `tau`, `theta[0]`, `R[0, 1]`."""
    return _split(draws, lambda index: str(list(index)))


def stan_scalars(draws: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Every scalar of draws [chain, draw, …] by Stan's name: `tau`, `theta[1]`, `R[1,2]`."""
    return _split(draws, _stan_index)


def stan_names(shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Stan's names of all scalars of arrays of these shapes."""
    return [label for name, shape in shapes.items() for label, _ in _labels(name, shape, _stan_index)]


def from_stan_scalars(draws: Draws, shapes: Mapping[str, Sequence[int]]) -> dict[str, np.ndarray]:
    """The inverse of `stan_scalars`: arrays [chain, draw, *shape] from their scalars [chain, draw]."""
    joined = {}
    for name, shape in shapes.items():
        entries = [draws[label] for label, _ in _labels(name, shape, _stan_index)]
        joined[name] = np.stack(entries, axis=-1).reshape(*entries[0].shape, *shape)
    return joined


def _split(draws: Mapping[str, Any], written: Callable[[Index], str]) -> dict[str, np.ndarray]:
    return {
        label: np.asarray(values)[(..., *index)]
        for name, values in draws.items()
        for label, index in _labels(name, np.shape(values)[2:], written)
    }


def _labels(name: str, shape: Sequence[int], written: Callable[[Index], str]) -> Iterator[tuple[str, Index]]:
    for index in np.ndindex(*shape):
        yield (f"{name}{written(index)}" if index else name), index


def _stan_index(index: Index) -> str:
    return f"[{','.join(str(i + 1) for i in index)}]"
