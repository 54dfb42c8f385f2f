"""What a waiting person wants to know: what is being done, how fast, with which acceptance, and how long it will take.

A terminal, or a notebook with ipywidgets, gets a bar. Everything else gets a few lines of text.
"""

import importlib.util
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from mongepatch._extras import require
from mongepatch.chains import Report
from mongepatch.kernels import Info
from mongepatch.program import watch_compilation

_LOG = logging.getLogger("mongepatch")
_SAMPLER = "run_chunk"
"""The program whose compilation takes longest."""
_TEXT_SECONDS = 5.0
"""Time between lines of text."""
_WHOLE_RATE = 10.0
"""Draws per second from which fractions of a draw say nothing."""


class ProgressReport(Report, Protocol):
    """A report that also says which stage begins, that something is compiled, and what was chosen."""

    def compiling(self, name: str) -> None:
        """Take the name of a program that is about to be compiled."""

    def begin_sampling(self, warmup: int, made: int) -> None:
        """Warm-up is over after so many draws of each chain; so many that are kept were made before, if any."""

    def message(self, line: str) -> None:
        """Print a line, unless it is empty."""

    def note(self, words: str) -> None:
        """Show words behind the bar from now on, such as how far a target is."""


@contextmanager
def progress_report(
    warmup: int, draws: int, chains: int, *, show: bool, verbose: bool | None = None
) -> Iterator[ProgressReport]:
    """A report that shows a bar or lines of text; with `show=False` messages alone, where `verbose` asks for them."""
    talks = show if verbose is None else verbose
    if not show:
        yield _Silent(talks)
        return
    tally = _Tally(warmup, draws, chains)
    console = _console()
    if not (console.is_jupyter or console.is_terminal) or (console.is_jupyter and not _has_widgets()):
        text = _TextReport(tally, talks, sys.stdout if console.is_jupyter else sys.stderr)
        with watch_compilation(text.compiling):
            yield text
        return
    rich_progress = require("rich.progress", "sample", "A progress bar (or pass progress=False: it)")
    columns = (
        rich_progress.TextColumn("{task.description:8}"),
        rich_progress.BarColumn(bar_width=6),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("{task.fields[note]}"),
        rich_progress.TimeRemainingColumn(compact=True),
    )
    # Redrawn once a chunk and not by a timer: a timer's thread would take time from the sampler.
    with rich_progress.Progress(*columns, console=console, auto_refresh=False) as bar:
        report = _BarReport(bar, tally, talks)
        with watch_compilation(report.compiling):
            yield report


class _Tally:
    """Draws so far, and how those of the present stage went."""

    def __init__(self, warmup: int, draws: int, chains: int) -> None:
        self.total, self.done, self.words = warmup + draws, 0, ""
        self._warmup, self._draws, self._chains = warmup, draws, chains
        self.begin("warm-up" if warmup else "sampling")

    def begin(self, stage: str) -> None:
        """Count from here."""
        self.stage = stage
        self._first, self._accepted, self._diverged, self._seconds = self.done, 0.0, 0, 0.0

    def add(self, info: Info, seconds: float) -> None:
        """Count some draws."""
        self.done += info.lp.shape[0]
        self._seconds += seconds
        self._accepted += float(info.acceptance_rate.sum())
        self._diverged += int(info.diverging.sum())

    @property
    def of_stage(self) -> str:
        """How many draws of the stage each chain has made."""
        is_warmup = self.stage == "warm-up"
        done = self.done if is_warmup else self.done - self._warmup
        total = self._warmup if is_warmup else self.total - self._warmup
        return f"{done:,} of {total:,} draws{' of each chain' if self._chains > 1 else ''}"

    def begin_sampling(self, warmup: int, made: int) -> None:
        """Count from the end of warm-up, which may have come early, or from draws that were made before."""
        self._warmup, self.total, self.done = warmup, warmup + self._draws, warmup + made
        self.begin("sampling")

    @property
    def note(self) -> str:
        """Rate and acceptance; of draws that are kept, divergences too: those of warm-up do no harm.

        The rate is of each chain, as the count is: what is missing, divided by it, is the time that is left.
        """
        draws = self.done - self._first
        rate = draws / self._seconds
        words = f"{rate:,.0f}/s" if rate >= _WHOLE_RATE else f"{rate:.2g}/s"
        acceptance = self._accepted / (draws * self._chains)
        parts = [f"{words} a chain" if self._chains > 1 else words, f"accept {acceptance:.2f}"]
        if self.stage == "sampling":
            parts.append(f"{self._diverged:,} divergent")
        return " · ".join([*parts, self.words] if self.words else parts)


class _Silent:
    """Says what was chosen, or nothing."""

    def __init__(self, talks: bool) -> None:
        self._talks = talks

    def __call__(self, info: Info, seconds: float) -> None:
        pass

    def compiling(self, name: str) -> None:
        pass

    def begin_sampling(self, warmup: int, made: int) -> None:
        pass

    def message(self, line: str) -> None:
        if line:
            _LOG.info(line)
            if self._talks:
                print(line, file=sys.stderr)

    def note(self, words: str) -> None:
        pass


class _TextReport(_Silent):
    """A line of text for each stage and for each sampler that is compiled, and one every few seconds."""

    def __init__(self, tally: _Tally, talks: bool, out: Any) -> None:
        super().__init__(talks)
        self._tally, self._out = tally, out
        self._last, self._line = -_TEXT_SECONDS, ""

    def __call__(self, info: Info, seconds: float) -> None:
        self._tally.add(info, seconds)
        if self._tally.done == self._tally.total or self._is_due():
            self._write(f"{self._tally.stage}: {self._tally.of_stage} · {self._tally.note}")

    def compiling(self, name: str) -> None:
        if name == _SAMPLER or self._is_due():
            self._write(f"{self._tally.stage}: {self._tally.of_stage}, compiling …")

    def begin_sampling(self, warmup: int, made: int) -> None:
        self._tally.begin_sampling(warmup, made)
        self._last = -_TEXT_SECONDS  # its first draws are worth a line

    def note(self, words: str) -> None:
        self._tally.words = words

    def message(self, line: str) -> None:
        if line:
            _LOG.info(line)
            if self._talks:
                self._write(line)

    def _is_due(self) -> bool:
        return time.monotonic() - self._last > _TEXT_SECONDS

    def _write(self, line: str) -> None:
        if line == self._line:
            return
        self._last, self._line = time.monotonic(), line
        print(line, file=self._out, flush=True)


class _BarReport:
    """A bar."""

    def __init__(self, bar: Any, tally: _Tally, talks: bool) -> None:
        self._bar, self._tally, self._talks = bar, tally, talks
        self._task = bar.add_task(tally.stage, total=tally.total, note="compiling …")
        bar.refresh()

    def __call__(self, info: Info, seconds: float) -> None:
        self._tally.add(info, seconds)
        self._show(self._tally.note)

    def compiling(self, name: str) -> None:
        self._show("compiling …")

    def begin_sampling(self, warmup: int, made: int) -> None:
        self._tally.begin_sampling(warmup, made)
        self._bar.update(self._task, total=self._tally.total)
        self._show("")

    def message(self, line: str) -> None:
        if line:
            _LOG.info(line)
            if self._talks:
                self._bar.console.print(line, markup=False, highlight=False)

    def note(self, words: str) -> None:
        self._tally.words = words

    def _show(self, note: str) -> None:
        tally = self._tally
        self._bar.update(self._task, completed=tally.done, description=tally.stage, note=note, refresh=True)


def _has_widgets() -> bool:
    """Whether a notebook can show a bar; rich warns at every change where it cannot."""
    return importlib.util.find_spec("ipywidgets") is not None


def _console() -> Any:
    """Standard error; in a notebook the output of the cell, which would be shown as an error otherwise."""
    console = require("rich.console", "sample", "A progress bar (or pass progress=False: it)").Console
    return console() if console().is_jupyter else console(stderr=True)
