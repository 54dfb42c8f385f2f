"""Runs that go on: after a break, or for more draws than were asked for at first."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._commands import to_extend, to_read, to_resume
from mongepatch._extras import require
from mongepatch._keywords import checked_keywords
from mongepatch._typing import LogDensity, PyTree
from mongepatch.errors import OtherRunError, ParameterError, SettingError, StoreError
from mongepatch.sampling.cluster.in_parts import places_of, resume_parts
from mongepatch.sampling.cluster.model import Model, built
from mongepatch.sampling.cluster.warm import PartStores
from mongepatch.sampling.keeper import Continued
from mongepatch.sampling.sample import sample
from mongepatch.sampling.settings import Store, settings_from_facts
from mongepatch.sampling.snapshot import reading_a_run
from mongepatch.sampling.state_group import STATE, state_of
from mongepatch.sampling.tuning import tuning_of_container
from mongepatch.sampling.until import Until
from mongepatch.sampling.watch import Callback
from mongepatch.store import Container, RunStore, files_at
from mongepatch.targets import Target
from mongepatch.targets.layout import Layout
from mongepatch.validation import whole_number

if TYPE_CHECKING:
    from xarray import DataTree


@checked_keywords
def resume(
    store: Any,
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    draws: int | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    executor: Any = None,
    devices: Any = None,
    **settings: Any,
) -> "DataTree":
    """End a run that was interrupted or killed, in warm-up or later: its draws are those of a run without a break.

    On the machine that it was begun on they are the same bit for bit. A run that has ended already is returned as it
    is. Settings are in the store, but for functions and objects, such as `metric=mp.Monge(1.0)`: give these again.

    Args:
        store: the location of the run, as it was given to `sample`.
        target: the target, or the log density, that the run was begun with.
        init: one point of the parameters, for a log density whose parameters are neither one array nor a dict of
            arrays; its values do not matter.
        draws: ends the run at so many draws of each chain, counted before `thin`, fewer than it was begun with; they
            are the first ones of the longer run. It takes no fewer than there are. By default the run gets as many as
            it was begun with.
        callback: as for `sample`.
        progress: as for `sample`.
        executor: as for `sample`, for a run that was begun with one, or on several hosts: its chains may be drawn in
            other processes than before, or in this one.
        devices: as for `sample`.
        settings: arguments of `sample` that a store does not hold.

    Returns:
        The same tree as `sample` returns.

    Raises:
        StoreError: there is no run, another process writes to it (`LockedStoreError`), a file is damaged
            (`DamagedStoreError`), or it is a run of another target or version (`OtherRunError`).

    Example:
        >>> tree = mp.sample(mp.targets.banana(), warmup=100, draws=200, store="run.zarr", progress=False)
        >>> tree = mp.resume("run.zarr", mp.targets.banana(), progress=False)
    """
    places = places_of(executor, None, devices, None)
    most = None if draws is None else whole_number("draws", draws)
    if isinstance(store, str | os.PathLike) and (stores := PartStores(Store(store))).has_parts:
        if most is not None:
            raise SettingError(f"{store} holds parts of a run, which have one number of draws: leave out draws.")
        return resume_parts(stores, Model(target, init, settings), places, progress=progress)
    if places:
        raise StoreError(f"{store} holds no parts of a run: it is resumed in one process, without executor=.")
    target, init = built(target, init)
    options = {"callback": callback, "progress": progress, "devices": devices, "most": most}
    return go_on(_reopened(store), target, init, settings, options)


@checked_keywords
def extend(
    run: Any,
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    draws: int,
    until: Until | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    **settings: Any,
) -> "DataTree":
    """Add draws to a run that has ended: together they are those of one longer run, bit for bit.

    Args:
        run: a result of `sample` in memory, or the location of a store.
        target: the target, or the log density, that the run was begun with.
        init: as for `resume`.
        draws: draws of each chain to add.
        until: ends the run earlier, as for `sample`; `max_draws` counts all draws.
        callback: as for `sample`.
        progress: as for `sample`.
        settings: as for `resume`.

    Returns:
        A tree with all draws. A result in memory stays as it is, and its longer copy is returned.

    Raises:
        StoreError: as for `resume`.
        ParameterError: the result has no group `state`, from which it could go on.

    Example:
        >>> tree = mp.sample(mp.targets.banana(), warmup=100, draws=200, progress=False)
        >>> tree = mp.extend(tree, mp.targets.banana(), draws=300, progress=False)
        >>> tree["posterior"].sizes["draw"]
        500
    """
    more = whole_number("draws", draws)
    options = {"callback": callback, "progress": progress}
    if not _is_tree(run):
        continued = _reopened(run)
        return go_on(continued, target, init, settings, options | {"more": more, "until": until})
    continued = Continued(*state_of(run))
    made = go_on(continued, target, init, settings, options | {"more": more, "until": until})
    return _appended(run, made)


def _is_tree(run: Any) -> bool:
    xarray = require("xarray", "sample", "A result")
    return isinstance(run, xarray.DataTree)


def _reopened(location: Any) -> Continued:
    store = RunStore.reopen(files_at(location), write=True)
    state = store.state
    assert state is not None  # a run without a checkpoint is refused
    return Continued(store.run, store.tuned, state, store)


def go_on(
    continued: Continued, target: Any, init: PyTree, given: Mapping[str, Any], options: dict[str, Any]
) -> "DataTree":
    """Make the draws that a run still lacks.

    Args:
        continued: the run.
        target: its target.
        init: one point of the parameters, where their structure is not known.
        given: settings that a store does not hold.
        options: other arguments of `sample`; `more` draws than it was to have, `until` something else is reached; or at
            `most` so many draws.
    """
    try:
        with reading_a_run():
            more, most, until = options.pop("more", 0), options.pop("most", None), options.pop("until", None)
            settings = _settings(continued, given, more, until)
            if most is not None:
                settings |= _shortened(continued, settings, most)
            begun = continued.begun
            seed = begun.facts.get("seed")
            if not isinstance(seed, int):
                seed = jax.random.wrap_key_data(on_device(begun.arrays["key"]), impl=begun.facts["key"])
            point = _starting_point(begun, target, init, per_chain=settings["init_per_chain"])
            tuning = tuning_of_container(begun)
        return sample(target, point, seed=seed, store=continued, tuning=tuning, **settings, **options)
    finally:
        if continued.store is not None:
            continued.store.close()


def _settings(continued: Continued, given: Mapping[str, Any], more: int, until: Until | None) -> dict[str, Any]:
    """The arguments of the run, with the number of draws that it is to have."""
    settings = settings_from_facts(continued.begun.facts["settings"], given)
    facts = continued.state.facts
    if until is not None and not isinstance(until, Until):
        raise SettingError(f"until must be an mp.Until, such as mp.Until(ess=400); it is {until!r}.")
    if "until" in facts:  # that of the run as it is now, which may be an extension; older stores do not have it
        settings["until"] = None if facts["until"] is None else Until(**facts["until"])
    if more:
        if "made" not in facts:
            raise SettingError("The run is still in warm-up, so that there is nothing to extend: resume it first.")
        if continued.store is not None and facts["made"] < facts["total"] and settings["until"] is None:
            where, made = continued.store.files.words, facts["made"]
            raise SettingError(
                f"The run has {made:,} of {facts['total']:,} draws of each chain, and only a run that has ended is "
                f"extended. {to_resume(where)} makes the rest of them. {to_resume(where, made)} ends it with the draws "
                f"that it has, which {to_read(where)} shows already."
            )
        settings |= {"draws": facts["made"] + more, "until": until}
    elif "total" in facts:
        settings |= _ending_at(facts["total"], settings["until"])
    return settings


def _shortened(continued: Continued, settings: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Settings of a run that is to end earlier; raise where it has more draws already, or was to have fewer."""
    made, until = continued.state.facts.get("made", 0), settings["until"]
    asked = settings["draws"] if until is None or until.max_draws is None else until.max_draws
    where = "the store" if continued.store is None else continued.store.files.words
    if most > asked:
        raise SettingError(
            f"The run was to have {asked:,} draws of each chain, and {most:,} are more: {to_extend(where)} adds draws "
            "to a run that has ended."
        )
    if most < made:
        raise SettingError(
            f"The run has {made:,} draws of each chain, and {most:,} are fewer: none is thrown away. "
            f"{to_resume(where, made)} ends it with those that there are, which {to_read(where)} shows already."
        )
    return _ending_at(most, until)


def _ending_at(draws: int, until: Until | None) -> dict[str, Any]:
    """Settings by which a run has so many draws at most."""
    if until is not None and until.max_draws is not None:
        until = replace(until, max_draws=draws)
    return {"draws": draws, "until": until}


def _starting_point(begun: Container, target: Any, init: PyTree, *, per_chain: bool) -> PyTree:
    """The point that the run was begun at, in the structure of the parameters."""
    flat = begun.arrays.get("init")
    if flat is None:
        by_name = {name[5:]: value for name, value in begun.arrays.items() if name.startswith("init.")}
        return by_name or None
    if isinstance(target, Target):
        _check_size(flat, target.layout)
        return on_device(flat) if target.layout.by_name else target.layout.tree(on_device(flat))
    if init is not None:
        layout = Layout.of(jax.tree.map(lambda leaf: leaf[0], init) if per_chain else init)
    else:
        layout = Layout(tuple(begun.facts["names"]), tuple(map(tuple, begun.facts["shapes"])))
        if begun.facts["structure"] == "other":
            raise ParameterError(
                "The parameters are neither one array nor a dict of arrays: give init, one point of them."
            )
        if begun.facts["structure"] == "array":
            return np.reshape(flat, (*flat.shape[:-1], *layout.shapes[0]))
    _check_size(flat, layout)
    return layout.tree(on_device(flat))


def _check_size(flat: np.ndarray, layout: Layout) -> None:
    if layout.size != flat.shape[-1]:
        raise OtherRunError(f"The run has {flat.shape[-1]} parameters, and this target has {layout.size}.")


def _appended(before: "DataTree", added: "DataTree") -> "DataTree":
    """Both in a row."""
    xarray = require("xarray", "sample", "A result")
    tree = before.copy()
    for name in ("posterior", "sample_stats"):
        first, second = before[name].to_dataset(), added[name].to_dataset()
        count = first.sizes["draw"]
        second = second.assign_coords(draw=np.arange(count, count + second.sizes["draw"]))
        whole = xarray.concat([first, second], "draw", data_vars="all")
        tree[name] = xarray.DataTree(whole.assign_attrs(second.attrs))
    tree[STATE] = xarray.DataTree(added[STATE].to_dataset())
    return tree
