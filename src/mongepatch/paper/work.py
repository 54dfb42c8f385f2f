"""Runs tasks in several processes, with a progress bar."""

import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, NamedTuple

import jax

from mongepatch._extras import require
from mongepatch.errors import DataError, MissingExtraError
from mongepatch.paper import store
from mongepatch.paper.item import Item, Numbers, Size, Task

TOGETHER = 8
"""Number of tasks after which compiled programs are released: a process has a limited number of memory maps."""
_finished_here = itertools.count(1)


class Done(NamedTuple):
    """Results and failures of the tasks of an item."""

    results: dict[str, Numbers]
    left_out: dict[str, str]
    """Reasons by label: a dataset or a package that is missing."""
    failed: dict[str, str]
    """The error, by label."""


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def do(items: Sequence[Item], size: Size, jobs: int, fresh: bool = False) -> dict[str, Done]:
    """Results of all tasks by name of the item: from the store, or computed now and stored as soon as they finish."""
    wanted = [(item, task) for item in items for task in item.tasks(size)]
    kept: dict[tuple[str, str], Any] = (
        {} if fresh else {(item.name, task.label): store.load(task) for item, task in wanted}
    )
    open_tasks = [(item, task) for item, task in wanted if kept.get((item.name, task.label)) is None]
    futures: dict[tuple[str, str], Future[Numbers]] = {}
    with _progress(len(open_tasks)) as tick:
        for item, task, future in _finished(open_tasks, jobs):
            futures[item.name, task.label] = future
            tick(f"{item.name}: {task.label}")
    done = {item.name: Done({}, {}, {}) for item in items}
    for item, task in wanted:  # in the order of the tasks, not of their completion
        name = (item.name, task.label)
        if name in futures:
            _take(done[item.name], task, futures[name])
        else:
            done[item.name].results[task.label] = kept[name]
    return done


def _finished(tasks: Sequence[tuple[Item, Task]], jobs: int) -> Iterator[tuple[Item, Task, "Future[Numbers]"]]:
    if not tasks:
        return
    with ProcessPoolExecutor(min(jobs, len(tasks)), get_context("spawn")) as pool:
        futures = {pool.submit(run_task, task): (item, task) for item, task in tasks}
        try:
            for future in as_completed(futures):
                yield (*futures[future], future)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_task(task: Task) -> Numbers:
    """Compute a task and store its result with the time in seconds."""
    jax.config.update("jax_enable_x64", True)
    started = time.perf_counter()
    numbers = {**task.compute(**task.settings), "task_seconds": time.perf_counter() - started}
    store.save(task, numbers)
    if next(_finished_here) % TOGETHER == 0:
        jax.clear_caches()
    return numbers


def _take(done: Done, task: Task, future: "Future[Numbers]") -> None:
    try:
        done.results[task.label] = future.result()
    except (DataError, MissingExtraError) as error:
        done.left_out[task.label] = str(error)
    except Exception as error:  # of any library: the other sections of the report are still written
        done.failed[task.label] = f"{type(error).__name__}: {error}"


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A bar with the task that finished last; without a terminal, a line for each task."""
    rich = require("rich.progress", "paper", "A progress bar")
    console = require("rich.console", "paper", "A progress bar").Console(stderr=True)
    if not console.is_terminal:
        count = itertools.count(1)
        yield lambda text: print(f"{next(count)}/{total} {text}", file=sys.stderr, flush=True)
        return
    columns = (
        rich.MofNCompleteColumn(),
        rich.BarColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.description}"),
    )
    with rich.Progress(*columns, console=console, disable=not total) as bar:
        number = bar.add_task("", total=total)
        yield lambda text: bar.update(number, advance=1, description=text)
