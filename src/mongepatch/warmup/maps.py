"""Maps that make coordinates normal one by one, from draws and gradients, for models of which nothing is whitened.

The logarithm of a scale of which data says little, or of a small probability, has one long tail and one that ends
abruptly. Steps are short for the abrupt side and trajectories long for the other, whatever M is. NUTS needs a fraction
of the steps in coordinates in which both are like those of a normal density.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mongepatch._arrays import on_device
from mongepatch.chains import Record
from mongepatch.coordinates.outer import OuterMap, fit, in_maps, log_densities, out_of_maps
from mongepatch.warmup.inverse_mass import worst_misfit
from mongepatch.warmup.state import WarmupState

MIN_DRAWS = 40
"""Draws below which nothing is learnt."""
_FEW_DRAWS, _MANY_DRAWS, _MANY_NUMBERS = 200, 2000, 100_000
"""Draws that are looked at: so many in large models, so many in small ones, and draws times coordinates between."""
_MIN_GAIN = 0.02
"""Log density of a draw that the map of a coordinate must add to that by a normal density. Half of it is the most that
chance adds to a coordinate in 1000 normal draws; the logarithm of a Gamma variable adds 0.08 at shape 1, and 0.008 at
shape 10."""
_PLAINLY_NORMAL, _BY_CHANCE = 0.25, 6.0
"""How much of that third and fourth moments must promise for a coordinate to be looked at, and how many times as much
as they promise by chance."""
_MOST_MISFIT = 0.9
"""The misfit by maps relative to that without them, up to which they are kept. It is 0.1 where probabilities are near
0, 0.6 with half-Cauchy scales, and above 1 along ridges, which maps of single coordinates bend."""


def adapt_maps(state: WarmupState, record: Record) -> Record:
    """Change the maps to those that a window's draws ask for; return the draws in the new coordinates."""
    density: Any = state.runner.density
    assert record.internal is not None  # windows of warm-up have both
    assert record.gradient is not None
    # Of thousands of chains these are those of some: the model's positions are made from them.
    count, draws, _ = record.internal.shape
    positions, slopes = out_of_maps(density.outer_map, *map(_by_time, (record.internal, record.gradient)))
    usable = np.isfinite(positions).all(axis=1) & np.isfinite(slopes).all(axis=1)
    if usable.sum() < MIN_DRAWS:
        return record
    dtype = record.position.dtype
    maps = choose_maps(positions[usable], slopes[usable], dtype)
    if all(np.array_equal(new, old) for new, old in zip(maps, density.outer_map, strict=True)):
        return record
    state.change_coordinates(replace(density, outer_map=maps))
    internal, gradients = (
        part.reshape(draws, count, -1).swapaxes(0, 1).astype(dtype) for part in in_maps(maps, positions, slopes)
    )
    return record._replace(internal=internal, gradient=gradients)


def choose_maps(draws: np.ndarray, gradients: np.ndarray, dtype: Any) -> OuterMap:
    """Maps for the coordinates in which draws are plainly not normal; the identity for all others.

    A coordinate is mapped if one half of the draws is likelier by the map of the other half than by its normal density.
    None is, unless maps bring the density nearer to normal where it is farthest from it: see `worst_misfit`.

    Args:
        draws: in the model's own coordinates and the order of time, [number, dimension].
        gradients: of the log density there.
        dtype: precision of the maps.
    """
    count, dimension = draws.shape
    most = max(_FEW_DRAWS, min(_MANY_DRAWS, _MANY_NUMBERS // dimension))
    some = np.linspace(0, count - 1, min(count, most)).round().astype(int)
    none = OuterMap.identity(dimension, dtype)
    # The moments of n normal draws promise 1/n on average.
    columns = np.flatnonzero(_promised_gains(draws[some]) > _PLAINLY_NORMAL * _MIN_GAIN + _BY_CHANCE / some.size)
    if not columns.size:
        return none
    halves = [_Halves(draws[order], gradients[order], columns, dtype) for order in (some, some[::-1])]
    is_mapped = np.mean([half.gains for half in halves], axis=0) > _MIN_GAIN
    if not is_mapped.any():
        return none
    before = sum(half.misfit(none) for half in halves)
    after = sum(half.misfit(_where(is_mapped, half.maps, none, dtype)) for half in halves)
    return _where(is_mapped, _fit(draws[some], columns, dtype), none, dtype) if after < _MOST_MISFIT * before else none


class _Halves:
    """Maps of some coordinates from the first half of some draws, which the second half judges."""

    def __init__(self, draws: np.ndarray, gradients: np.ndarray, columns: np.ndarray, dtype: Any) -> None:
        self.draws, self.gradients = draws, gradients
        first, second = np.array_split(draws, [len(draws) // 2])
        self.maps, normal = _fit(first, columns, dtype), _normal(first, dtype)
        gains = log_densities(self.maps, second) - log_densities(normal, second)
        self.gains = np.where(np.isin(np.arange(draws.shape[1]), columns), gains, 0.0)
        """What the map of each coordinate adds to the log density of a draw."""

    def misfit(self, maps: OuterMap) -> float:
        """How far from normal the density is by some maps."""
        return worst_misfit(*in_maps(maps, self.draws, self.gradients))


def _promised_gains(draws: np.ndarray) -> np.ndarray:
    """About what the best map of each coordinate adds to the log density of a draw, from its third and fourth moments.

    Skewness²/12 + excess²/48 is the start of a series for the distance from a normal density.
    """
    spread = draws.std(axis=0)
    standard = (draws - draws.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    squares = standard * standard  # powers take ten times as long
    skewness, excess = (squares * standard).mean(axis=0), (squares * squares).mean(axis=0) - 3.0
    found: np.ndarray = np.where(spread > 0, skewness**2 / 12.0 + excess**2 / 48.0, 0.0)
    return found


def _fit(draws: np.ndarray, columns: np.ndarray, dtype: Any) -> OuterMap:
    """Fitted maps of some coordinates; the identity for others."""
    whole = [np.array(part) for part in OuterMap.identity(draws.shape[1], dtype)]
    for part, fitted in zip(whole, fit(draws[:, columns], dtype), strict=True):
        part[columns] = fitted
    return OuterMap(*(on_device(part, dtype) for part in whole))


def words(maps: OuterMap) -> str:
    """How many coordinates are mapped, for a person to read; empty for none."""
    is_mapped = np.asarray(maps.is_mapped)
    return f"{is_mapped.sum()} of {is_mapped.size} coordinates made normal" if is_mapped.any() else ""


def _by_time(values: np.ndarray) -> np.ndarray:
    """Rows of [chain, draw, dimension], all chains of a draw together."""
    rows: np.ndarray = values.swapaxes(0, 1).reshape(-1, values.shape[-1]).astype(np.float64)
    return rows


def _normal(draws: np.ndarray, dtype: Any) -> OuterMap:
    """The maps of normal densities."""
    center, spread = draws.mean(axis=0), draws.std(axis=0)
    identity = OuterMap.identity(draws.shape[1], dtype)
    scale = np.where(spread > 0, spread, 1.0)
    return identity._replace(center=on_device(center, dtype), scale=on_device(scale, dtype))


def _where(condition: np.ndarray, one: OuterMap, other: OuterMap, dtype: Any) -> OuterMap:
    """Of each coordinate one map or the other."""
    return OuterMap(*(on_device(np.where(condition, *parts), dtype) for parts in zip(one, other, strict=True)))
