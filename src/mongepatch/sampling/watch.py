"""The draws of a run, chunk by chunk: somebody may watch, a signal may end it, and so may good diagnostics."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mongepatch._commands import to_extend, to_resume
from mongepatch.chains import Runner
from mongepatch.errors import SamplingInterrupted
from mongepatch.kernels import Info
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.keeper import Keeper
from mongepatch.sampling.live import LiveDiagnostics
from mongepatch.sampling.progress import ProgressReport
from mongepatch.sampling.until import Until, next_look
from mongepatch.warmup import WarmupState


class RunStatus(NamedTuple):
    """How far a run is, for a `callback` of `mongepatch.sample`."""

    chunk: int
    """The number of the chunk that has ended, counted from 0."""
    draws: int
    """Draws of each chain so far, those of warm-up included."""
    total: int
    """Draws of each chain that were asked for, those of warm-up included."""
    is_warmup: bool
    """Whether warm-up goes on."""
    log_density: np.ndarray
    """Log density of the last draw of each chain."""
    r_hat: float
    """The largest split R̂ of the parameters and of their squares so far; NaN in warm-up and before 100 draws."""


Callback: TypeAlias = Callable[[RunStatus], Any]


class WatchedReport:
    """A report that also tells a callback, and that ends a warm-up which is not stored."""

    def __init__(
        self,
        bar: ProgressReport,
        callback: Callback | None,
        interrupts: Interrupts,
        *,
        warmup: int,
        draws: int,
        stored: bool,
    ) -> None:
        self._bar, self._callback, self._interrupts = bar, callback, interrupts
        self._to_make, self._total, self._stored = draws, warmup + draws, stored
        self._chunk = self._draws = 0
        self.is_warmup = True
        """Whether chunks are those of warm-up. Others are told of by `tell`, once diagnostics have seen them."""

    def __call__(self, info: Info, seconds: float) -> None:
        """Take the info of a chunk."""
        self._bar(info, seconds)
        self._draws += len(info.lp)
        if self.is_warmup:
            self.tell(np.asarray(info.lp[-1]), np.nan)
            if self._interrupts.requested and not self._stored:
                self._interrupts.deliver()
                raise SamplingInterrupted(
                    f"The run was interrupted in warm-up, after {self._draws:,} draws: there is nothing to return. "
                    'With store="run.zarr" it could go on.'
                )

    def tell(self, log_density: np.ndarray, r_hat: float) -> None:
        """Tell the callback of a chunk."""
        if self._callback is not None:
            status = RunStatus(self._chunk, self._draws, self._total, self.is_warmup, log_density, r_hat)
            self._chunk += 1
            self._callback(status)

    def begin_draws(self, warmup: int, made: int) -> None:
        """Warm-up of so many draws is over, or was in another process; so many draws were made since."""
        self.is_warmup = False
        self._total = warmup + self._to_make
        self._draws = warmup + made
        self._bar.begin_sampling(warmup, made)

    def message(self, line: str) -> None:
        """Print a line."""
        self._bar.message(line)

    def note(self, words: str) -> None:
        """Show words behind the bar."""
        self._bar.note(words)


class Ending(NamedTuple):
    """Why draws ended."""

    interrupted: bool = False
    reached: bool | None = None
    """Whether the target of `until` was reached; None where there is none."""

    @property
    def words(self) -> str:
        """The same as a store has it."""
        return "interrupted" if self.interrupted else "limit" if self.reached is False else "done"


def make_draws(
    runner: Runner,
    state: WarmupState,
    keeper: Keeper,
    report: WatchedReport,
    interrupts: Interrupts,
    columns: np.ndarray | None,
) -> Ending:
    """Draw until there are enough draws, or until `until` or a signal ends it; `state` is where chains are then."""
    options = keeper.options
    until: Until | None = options.until
    has_callback = options.callback is not None
    if until is not None and until.is_reached(keeper.live.estimates()):
        return Ending(reached=True)
    while keeper.made < options.draws:
        look = math.inf if until is None else next_look(keeper.made)
        stop = int(min(options.draws, look, keeper.next_write))
        begun = runner.chunks(state.points, state.tuning, state.policy, stop - keeper.made, columns=columns)
        before = runner.seconds - keeper.seconds
        for points, policy, rows in begun:
            state.points, state.policy = points, policy
            keeper.seconds = runner.seconds - before
            if options.watches:
                keeper.live.add(rows.position, np.asarray(rows.info.lp))
            keeper.add(rows, points, policy)
            if has_callback:
                report.tell(np.asarray(rows.info.lp[-1]), keeper.live.estimates(ess=False).r_hat)
            if not keeper.has_draws:
                continue
            if interrupts.requested and keeper.made < options.draws:
                return Ending(interrupted=True, reached=None if until is None else False)
            if until is not None and until.max_time is not None and keeper.seconds >= until.max_time:
                return Ending(reached=until.is_reached(keeper.live.estimates()))
            if keeper.next_write < stop:  # a store's first draws have told how long its chunks are
                break
        if until is not None and keeper.made == look:
            found = keeper.live.estimates()
            report.note(until.words(found, keeper.seconds / keeper.made, keeper.made))
            if until.is_reached(found):
                return Ending(reached=True)
    return Ending(reached=None if until is None else until.is_reached(keeper.live.estimates()))


def sentence(ended: str, made: int, wanted: int, how: str, until: Until | None, live: LiveDiagnostics) -> str:
    """What a reader must know of a run that did not end as it was asked to; empty where it did.

    Args:
        ended: how it ended: "done", "interrupted" or "limit".
        made: draws of each chain.
        wanted: draws of each chain that were asked for.
        how: what makes the rest of the draws, or more of them.
        until: the target.
        live: diagnostics of the draws.
    """
    if ended == "interrupted":
        return f"The run was interrupted after {made:,} of {wanted:,} draws of each chain; the result has these. {how}."
    if ended == "limit" and until is not None:
        found = live.estimates()
        return (
            f"The run ended at its limit before its target was reached: the effective sample size is {found.ess:,.0f} "
            f"of {until.ess:,.0f}, and R̂ is {found.r_hat:.3f} of {until.rhat:g}. {how}."
        )
    return ""


def what_to_do(ended: str, store: str | None, missing: int = 0) -> str:
    """What makes the rest of the draws of a run, or more of them.

    Args:
        ended: how it ended.
        store: where its draws are; None for memory.
        missing: draws of each chain that it lacks.
    """
    if ended == "interrupted":
        return f"{f'mp.extend(tree, target, draws={missing})' if store is None else to_resume(store)} goes on"
    return f"{'mp.extend(tree, target, draws=…)' if store is None else to_extend(store)} adds draws"
