"""What `sample` asks before and after a run that is stored, thinned or ended by its diagnostics."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch.errors import SettingError
from mongepatch.sampling.keeper import Continued, Gather, Keeper, StoreKeeper
from mongepatch.sampling.settings import Store
from mongepatch.sampling.until import Until
from mongepatch.validation import whole_number

if TYPE_CHECKING:
    from xarray import DataTree

_MOST_DIAGNOSED = 20_000
"""Draws of each chain whose variables are looked at."""
_MOST_STATISTICS, _BLOCKS = 200_000, 100
"""Draws of all chains whose statistics are looked at, and the number of blocks that they lie in."""


def draws_to_make(draws: Any, thin: Any, until: Any) -> int:
    """The most draws of each chain to make, thinned out ones included."""
    if until is not None and not isinstance(until, Until):
        raise SettingError(f"until must be an mp.Until, such as mp.Until(ess=400); it is {until!r}.")
    draws, thin = whole_number("draws", draws), whole_number("thin", thin)
    most = draws if until is None or until.max_draws is None else until.max_draws
    if most < thin:
        raise SettingError(f"thin={thin} keeps none of {most} draws: draws must be at least thin.")
    return most


def check_callback(callback: Any) -> Any:
    """The callback; raise unless it is a function."""
    if callback is not None and not callable(callback):
        raise SettingError(f"callback must be a function of a RunStatus; it is {callback!r}.")
    return callback


def is_stored(store: Any) -> bool:
    """Whether draws go to a store; those of a result in memory that goes on do not."""
    return (store.store or store.into) is not None if isinstance(store, Continued) else store is not None


def keeper_of(store: Any, run: Any, options: Any, settings: Mapping[str, Any], gather: Gather) -> Keeper:
    """Where draws go: a `Continued` run says so itself."""
    if isinstance(store, Continued):
        how = store.into
        if store.store is not None:
            how = Store(store.store.files.words, **store.begun.facts["store"])
        if how is None:
            return Keeper(run, options, settings, gather, store)
        return StoreKeeper(run, options, settings, gather, store, how)
    if store is None:
        return Keeper(run, options, settings, gather, None)
    how = store if isinstance(store, Store) else Store(store)
    return StoreKeeper(run, options, settings, gather, None, how)


def for_diagnosis(tree: "DataTree") -> "DataTree":
    """Of a long run, a part that can be diagnosed in little memory: blocks of draws, evenly spaced from first to last.

    Statistics are those of whole blocks, since some compare neighbours. Of the variables there are fewer draws.
    """
    statistics = tree["sample_stats"].to_dataset()
    chains, draws = statistics.sizes["chain"], statistics.sizes["draw"]
    length = max(1, _MOST_STATISTICS // chains // _BLOCKS)
    if draws <= max(_MOST_DIAGNOSED, length * _BLOCKS):
        return tree
    starts = np.linspace(0, draws - length, _BLOCKS).astype(int)
    chosen = (starts[:, None] + np.arange(length)).ravel()
    fewer = chosen[:: -(-len(chosen) // _MOST_DIAGNOSED)]
    parts = {"posterior": tree["posterior"].to_dataset().isel(draw=fewer), "sample_stats": statistics.isel(draw=chosen)}
    return type(tree).from_dict(parts)
