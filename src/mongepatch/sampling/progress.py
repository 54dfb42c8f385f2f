"""A progress bar with what a waiting person wants to know: rate, acceptance, divergences, time left."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from mongepatch._extras import require
from mongepatch.chains import Report
from mongepatch.kernels import Info


class ProgressReport(Report, Protocol):
    """A report that also prints messages."""

    def message(self, line: str) -> None:
        """Print a line, unless it is empty."""

    def note(self, words: str) -> None:
        """Show words behind the bar from now on, such as how far a target is."""

    def begin_at(self, draws: int) -> None:
        """Count from so many draws of each chain, which were made before."""


@contextmanager
def progress_report(total: int, chains: int, *, show: bool) -> Iterator[ProgressReport]:
    """A report that draws a bar on the terminal, or does nothing."""
    if not show:
        yield _NoReport()
        return
    rich_progress = require("rich.progress", "sample", "A progress bar (or pass progress=False: it)")
    columns = (
        rich_progress.BarColumn(bar_width=8),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("{task.fields[note]}"),
        rich_progress.TimeRemainingColumn(compact=True),
    )
    # Redrawn once a chunk and not by a timer: a timer's thread would take time from the sampler.
    with rich_progress.Progress(*columns, console=_stderr_console(), auto_refresh=False) as bar:
        yield _BarReport(bar, total, chains)


class _NoReport:
    def __call__(self, info: Info, seconds: float) -> None:
        pass

    def message(self, line: str) -> None:
        pass

    def note(self, words: str) -> None:
        pass

    def begin_at(self, draws: int) -> None:
        pass


class _BarReport:
    def __init__(self, bar: Any, total: int, chains: int) -> None:
        self._bar, self._chains = bar, chains
        self._task = bar.add_task("sampling", total=total, note="compiling …")
        self._done, self._accepted, self._diverged = 0, 0.0, 0
        self._seconds = 0.0
        self._words, self._before = "", 0
        bar.refresh()

    def __call__(self, info: Info, seconds: float) -> None:
        self._seconds += seconds
        self._done += info.lp.shape[0]
        self._accepted += float(info.acceptance_rate.sum())
        self._diverged += int(info.diverging.sum())
        draws = self._done * self._chains
        rate = draws / self._seconds
        divergences = f"{self._diverged:,} divergent"
        note = f"{rate:,.0f} draws/s · accept {self._accepted / draws:.2f} · {divergences}{self._words}"
        self._bar.update(self._task, completed=self._before + self._done, note=note, refresh=True)

    def message(self, line: str) -> None:
        if line:
            self._bar.console.print(line, markup=False, highlight=False)

    def note(self, words: str) -> None:
        self._words = f" · {words}"

    def begin_at(self, draws: int) -> None:
        self._before = draws


def _stderr_console() -> Any:
    return require("rich.console", "sample", "A progress bar").Console(stderr=True)
