"""Where the draws of a run go, in memory or into a store, and what is kept with them so that it can go on."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import numpy as np

from mongepatch._groups import with_groups
from mongepatch.chains import Record, Report, Runner, concatenated, joined
from mongepatch.coordinates.batches import in_model
from mongepatch.sampling.identity import check_identity, identity_of
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.journal import JournaledRunner
from mongepatch.sampling.live import LiveDiagnostics
from mongepatch.sampling.prepare import Prepared
from mongepatch.sampling.settings import Store
from mongepatch.sampling.snapshot import (
    arrays_of,
    changed_arrays,
    kinds_of,
    reading_a_run,
    template_density,
    template_points,
    template_policy,
    template_tuning,
    tree_of_arrays,
)
from mongepatch.sampling.state_group import with_state
from mongepatch.sampling.tuning import tuning_group, tuning_to_container
from mongepatch.sampling.variables import variables
from mongepatch.store import Container, RunStore, files_at
from mongepatch.store.reader import open_tree
from mongepatch.warmup import Choice, WarmupState

if TYPE_CHECKING:
    from xarray import DataTree

Gather: TypeAlias = Callable[[Record, Sequence[Record], Mapping[str, Any]], "DataTree"]

_PENDING_BYTES = 8 * 2**20
"""How much may wait to be written."""
GROUPS = ("posterior", "sample_stats")


class Continued(NamedTuple):
    """A run that goes on: how it was begun, what its warm-up found and where its chains are."""

    begun: Container
    tuned: Container | None
    """None where it is still in warm-up."""
    state: Container
    store: RunStore | None = None
    """Where its draws are; None for those in memory."""
    into: Store | None = None
    """Where they are to be written, for one that was warmed up elsewhere."""


class Restored(NamedTuple):
    """What warm-up would have led to."""

    state: WarmupState
    choice: Choice
    warmup_time: float


class Keeper:
    """Draws in memory. It is a context, in which a run takes place.

    Args:
        run: the run, with its target, kernel, starting points and tuning parameters to begin with.
        options: options of the run.
        settings: arguments that the run was called with, as facts.
        gather: makes a tree from draws, those of warm-up, and attributes.
        continued: the run that goes on, if it does.
    """

    def __init__(
        self, run: Any, options: Any, settings: Mapping[str, Any], gather: Gather, continued: Continued | None
    ) -> None:
        self.run, self.options, self._gather, self._continued = run, options, gather, continued
        prepared: Prepared = run.prepared
        self.live = LiveDiagnostics()
        self.made, self.seconds = 0, 0.0
        """Draws of each chain after warm-up, thinned out ones included, and how long they took."""
        self.last: np.ndarray | None = None
        """The last draw of each chain, as its record has it."""
        self._parts: list[Record] = []
        self._tuned: Container | None = None
        self._kept: list[Record] = []
        if continued is None:
            facts, arrays = identity_of(prepared, run.kernel, run.points)
            key = {"key": np.asarray(jax.random.key_data(prepared.keys.whole))}
            facts |= {"settings": dict(settings), "key": str(jax.random.key_impl(prepared.keys.whole))}
            facts["seed"] = prepared.seed
            taken = Container({}, {}) if options.found is None else tuning_to_container(options.found.group)
            arrays |= key | _init_arrays(prepared) | taken.arrays
            self._begun = Container(arrays, facts | _structure(prepared) | taken.facts)
        else:
            self._begun = continued.begun
            with reading_a_run():
                check_identity(continued.begun.facts, continued.begun.arrays, prepared, run.kernel, run.points)

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def runner(self, report: Report, interrupts: Interrupts) -> Runner:
        """Makes the draws."""
        return Runner(*self._parts_of_runner, report, self.run.prepared.placement)

    @property
    def _parts_of_runner(self) -> tuple[Any, Any, Any]:
        return self.run.prepared.keys.run, self.run.prepared.density, self.run.kernel

    @property
    def where(self) -> str | None:
        """The store that draws go to; None for memory."""
        return None

    @property
    def has_draws(self) -> bool:
        """Whether there is a draw to return."""
        return self.made >= self.options.thin

    @property
    def next_write(self) -> float:
        """The number of draws at which what there is should be written."""
        return math.inf

    def restored(self, runner: Runner) -> Restored | None:
        """What warm-up found, where the run goes on after it; None where warm-up is to be made, or repeated."""
        if self._continued is None or self._continued.tuned is None:
            return None
        with reading_a_run():
            return self._restore(runner, self._continued.tuned, self._continued.state)

    def _restore(self, runner: Runner, tuned: Container, state: Container) -> Restored:
        arrays, facts = tuned
        kinds, run = facts["kinds"], self.run
        first = template_density(run.prepared, whitened=kinds["whitened"])
        runner.density = tree_of_arrays("density", arrays, first)
        tuning = tree_of_arrays("tuning", arrays, template_tuning(run.tuning, run.to_find, run.prepared, kinds))
        like = template_points(np.asarray(run.points.position), runner.density, tuning)
        points = tree_of_arrays("points", state.arrays, like)
        dtype = run.points.logdensity.dtype
        policy = tree_of_arrays("policy", state.arrays, template_policy(kinds, run.prepared.chains, dtype))
        self.made, self.seconds = int(state.facts["made"]), float(state.facts["seconds"])
        runner.done = int(facts["done"]) + self.made
        runner.seconds = float(facts["warmup_time"]) + self.seconds
        live = {name[5:]: values for name, values in state.arrays.items() if name.startswith("live.")}
        self.live = LiveDiagnostics.restored(live)
        warm = WarmupState(
            runner,
            points,
            tuning,
            run.prepared.keys.tune,
            policy,
            acceptance=float(facts["acceptance"]),
            fixed_acceptance=True,
            keep=False,
        )
        warm.draws, warm.n_grad = int(facts["warmup"]), int(facts["n_grad"])
        self._tuned = tuned
        return Restored(warm, Choice(*facts["choice"]), float(facts["warmup_time"]))

    def begin(self, state: WarmupState, choice: Choice, warmup_time: float, attrs: Mapping[str, Any]) -> None:
        """Take what warm-up found."""
        self._kept, self._attrs = state.kept, dict(attrs)
        if self._tuned is not None:
            return
        run, kinds = self.run, kinds_of(state.tuning, state.policy, whitened=state.in_other_coordinates)
        tuning = template_tuning(run.tuning, run.to_find, run.prepared, kinds)
        density = template_density(run.prepared, whitened=state.in_other_coordinates)
        arrays = changed_arrays("tuning", state.tuning, tuning)
        arrays |= changed_arrays("density", state.runner.density, density)
        facts = {
            "kinds": kinds,
            "choice": list(choice),
            "warmup_time": warmup_time,
            "warmup": state.draws,
            "n_grad": state.n_grad,
            "acceptance": state.target_acceptance,
            "done": state.runner.done,
        }
        self._tuned = Container(arrays, facts)

    def snapshot(self, state: WarmupState) -> Continued:
        """The run as it is, for other processes to go on with."""
        return Continued(self._begun, self._tuned, self._state(state.points, state.policy))

    def add(self, rows: Record, points: Any, policy: Any) -> None:
        """Take draws, with axes (draw, chain), and where they led to."""
        thin = self.options.thin
        first = (thin - 1 - self.made) % thin
        self.made, self.last = self.made + len(rows.position), rows.position[-1]
        if thin > 1:
            rows = jax.tree.map(lambda array: array[first::thin].copy(), rows)
        if len(rows.position):
            self._parts.append(rows)

    def finish(self, state: WarmupState, attrs: Mapping[str, Any], ended: str = "done") -> "DataTree":
        """The result.

        Args:
            state: where chains are.
            attrs: attributes of the groups.
            ended: how the run ended: "done", "interrupted" or "limit", before the target of `until` was reached.
        """
        parts, self._parts = self._parts, []
        tree = self._gather(joined(parts), self._kept, attrs)
        assert self._tuned is not None  # begin comes first
        return with_state(tree, self._begun, self._tuned, self._state(state.points, state.policy))

    def _state(self, points: Any, policy: Any, **ended: Any) -> Container:
        live = {f"live.{name}": values for name, values in self.live.arrays.items()} if self.options.watches else {}
        arrays = arrays_of("points", points) | arrays_of("policy", policy) | live
        options = self.options
        goal = {"total": options.draws, "until": None if options.until is None else asdict(options.until)}
        return Container(arrays, {"made": self.made, "seconds": self.seconds, **goal, **ended})


class StoreKeeper(Keeper):
    """Draws that are written to a store as they are made."""

    def __init__(
        self,
        run: Any,
        options: Any,
        settings: Mapping[str, Any],
        gather: Gather,
        continued: Continued | None,
        how: Store,
    ) -> None:
        super().__init__(run, options, settings, gather, continued)
        self._how = how
        if continued is None or continued.store is None:
            facts = {**self._begun.facts, "store": how.settings}
            self.store = RunStore.create(files_at(how.location), self._begun.arrays, facts)
        else:
            self.store = continued.store
        self._written, self._bytes, self._stop = time.monotonic(), 0, math.inf
        self._found: dict[str, Any] = {}
        """The group of what warm-up found, by its name."""

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def runner(self, report: Report, interrupts: Interrupts) -> Runner:
        """Makes the draws; those of warm-up are stored until warm-up is over."""
        parts, placement = self._parts_of_runner, self.run.prepared.placement
        return JournaledRunner(parts, report, placement, self.store, self._how.seconds, interrupts)

    @property
    def where(self) -> str | None:
        """The store that draws go to."""
        return self.store.files.words

    @property
    def next_write(self) -> float:
        """The end of the next chunk of the store, which is then written whole and only once."""
        rows = (self.store.chunk_draws or 0) * self.options.thin
        self._stop = (self.made // rows + 1) * rows if rows else math.inf
        return self._stop

    def begin(self, state: WarmupState, choice: Choice, warmup_time: float, attrs: Mapping[str, Any]) -> None:
        """Take what warm-up found."""
        super().begin(state, choice, warmup_time, attrs)
        if self.store.has_draws:  # the run goes on, with a new number of draws
            self.store.append({}, *self._state(state.points, state.policy))
        elif self.run.finds_something(self.options):
            layout, position = self.run.prepared.target.layout, np.asarray(state.points.position)
            last = in_model(position, state.runner.density)
            self._found = {"tuning": tuning_group(state, last, layout, choice.line)}

    def add(self, rows: Record, points: Any, policy: Any) -> None:
        """Take draws; write them from time to time."""
        before = len(self._parts)
        super().add(rows, points, policy)
        self._bytes += sum(leaf.nbytes for part in self._parts[before:] for leaf in jax.tree.leaves(part))
        is_much = self._bytes > _PENDING_BYTES and not self.store.has_draws
        is_due = time.monotonic() - self._written > self._how.seconds
        if is_much or is_due or self.made == self._stop:
            self.write(points, policy)

    def write(self, points: Any, policy: Any) -> None:
        """Write what there is, while the chains go on."""
        if not self._parts:
            return
        parts, self._parts, self._bytes, self._written = self._parts, [], 0, time.monotonic()
        if not self.store.has_draws:
            first = jax.tree.map(lambda array: array[:1], concatenated(parts[:1]))
            tree = with_groups(self._gather(joined([first]), self._kept, self._attrs), self._found)
            self._kept = []
            assert self._tuned is not None  # begin comes first
            self.store.begin_draws(self._tuned, self._converted(tree), GROUPS, self._how.chunk_draws)
        record = joined(parts)
        made = variables(record.position, self.run.prepared.target, self.options.keep)
        groups = {"posterior": made, "sample_stats": record.stats}
        values = {f"{group}/{name}": array for group, arrays in groups.items() for name, array in arrays.items()}
        self.store.append(values, *self._state(points, policy))

    def finish(self, state: WarmupState, attrs: Mapping[str, Any], ended: str = "done") -> "DataTree":
        """The result, whose arrays are read from the store when they are used."""
        self.write(state.points, state.policy)
        groups = {"posterior": attrs, "sample_stats": attrs}
        self.store.finish(groups, *self._state(state.points, state.policy, ended=ended))
        return open_tree(self.store.files, self.store.metadata())

    def _converted(self, tree: "DataTree") -> "DataTree":
        """The tree with variables in the precision that is stored."""
        dtype = self._how.dtype
        if dtype is not None:
            posterior = tree["posterior"].to_dataset()
            floats = {name: values.astype(dtype) for name, values in posterior.items() if values.dtype.kind == "f"}
            tree["posterior"] = type(tree)(posterior.assign(floats))
        return tree


def _init_arrays(prepared: Prepared) -> dict[str, np.ndarray]:
    """The user's starting point: flat, or values of some variables by name."""
    init = prepared.init
    if init is None or init.of_tuning:
        return {}
    if init.values is not None:
        return {f"init.{name}": np.asarray(value) for name, value in init.values.items()}
    return {"init": np.asarray(init.position)}


def _structure(prepared: Prepared) -> dict[str, Any]:
    """Whether parameters are one array, a dict of arrays, or something else, which has to be given again."""
    layout = prepared.target.layout
    names = dict.fromkeys(layout.names, 0)
    for words, example in (("array", 0), ("dict", names)):
        if layout.treedef == jax.tree.structure(example):
            return {"structure": words}
    return {"structure": "other"}
