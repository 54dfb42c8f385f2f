"""Groups of chains as tasks of any executor; a task that is lost with its worker is done again."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import TYPE_CHECKING, Any

import jax

from mongepatch.errors import SamplingWarning, SettingError, WorkerError
from mongepatch.sampling.cluster.model import Model, built
from mongepatch.sampling.cluster.warm import PartStores, Warm
from mongepatch.sampling.keeper import Continued
from mongepatch.sampling.settings import Store

if TYPE_CHECKING:
    from xarray import DataTree

_MOST_LOSSES = 3
"""How often a task may be lost."""
_DEFAULT_GROUPS = 16
"""Groups of chains for an executor that does not say how many workers it has."""
_LOST = {"KilledWorker", "TerminatedWorkerError", "WorkerCrashedError", "NodeDiedError", "LostDependencyError"}
"""Errors of dask.distributed, loky and Ray that say that a worker has died, by their names."""


def workers_of(executor: Any) -> int:
    """How many tasks an executor does at a time, as far as it tells; one that is yet to be made does not."""
    client: Any = getattr(executor, "_client", None)  # of dask.distributed
    if hasattr(client, "ncores"):
        return max(1, len(client.ncores()))
    found = getattr(executor, "_max_workers", None)
    return found if isinstance(found, int) and found > 0 else _DEFAULT_GROUPS


def opened(executor: Any) -> Any:
    """The executor, or one from the function that makes it."""
    made = executor() if callable(executor) and not hasattr(executor, "submit") else executor
    if not hasattr(made, "submit"):
        raise SettingError(
            "executor must be a concurrent.futures.Executor, such as client.get_executor() of Dask, or a function "
            f"without arguments that makes one; it is {executor!r}."
        )
    return made


def run_tasks(executor: Any, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The results of all tasks, in their order.

    Args:
        executor: an executor, or a function that makes one: another is made where the first is broken.
        work: a function that can be pickled.
        tasks: arguments for each call of it.
    """
    current = opened(executor)
    results: list[Any] = [None] * len(tasks)
    losses = [0] * len(tasks)
    waiting: dict[Future[Any], int] = {}
    left = list(range(len(tasks)))
    while left or waiting:
        try:
            while left:
                waiting[current.submit(work, *tasks[left[0]])] = left[0]
                left.pop(0)
        except (BrokenExecutor, RuntimeError) as error:
            left += waiting.values()
            waiting = {}
            current = _another(executor, current, error)
            continue
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            number = waiting.pop(future)
            lost = _lost(future)
            if lost is None:
                results[number] = future.result()
                continue
            losses[number] += 1
            if losses[number] > _MOST_LOSSES:
                raise WorkerError(
                    f"A group of chains was lost {losses[number]} times with its worker ({lost}): the worker may need "
                    "more memory, or fewer chains at a time (chains_per_task)."
                ) from future.exception()
            left.append(number)
    return results


def _lost(future: "Future[Any]") -> str | None:
    """Why a task was lost; None for one that has ended, well or with an error of its own."""
    try:
        error = future.exception()
    except CancelledError as cancelled:
        return type(cancelled).__name__
    if isinstance(error, BrokenExecutor) or type(error).__name__ in _LOST:
        return type(error).__name__
    return None


def _another(executor: Any, broken: Any, error: Exception) -> Executor:
    if hasattr(executor, "submit"):
        raise WorkerError(
            f"The executor is broken ({type(error).__name__}: {error}), since one of its workers has died. Give a "
            "function that makes executors, such as executor=lambda: ProcessPoolExecutor(4, mp_context=spawn): lost "
            "groups of chains are then made again, with the same draws. With a store, mp.resume goes on."
        ) from error
    broken.shutdown(wait=False)
    made: Executor = opened(executor)
    return made


def draw_part(
    model: bytes, part: Continued | None, chains: range, store: Store | None, flags: Mapping[str, Any]
) -> Any:
    """The task: draw some chains. It returns their tree, or None where draws are in a store.

    Args:
        model: a packed `Model`.
        part: the chains, where draws stay in memory.
        chains: their numbers.
        store: the store of all chains.
        flags: JAX's settings by which numbers are made.
    """
    for name, value in flags.items():
        jax.config.update(name, value)
    if store is not None:
        stores = PartStores(store)
        part = stores.continued(stores.load(), chains)
    assert part is not None  # in memory, or just read
    tree = sample_part(Model.unpacked(model), part)
    return tree if store is None else None


def sample_part(model: Model, part: Continued, **options: Any) -> "DataTree":
    """Make the draws of some chains in this process. What is wrong with them is told of all chains together."""
    from mongepatch.sampling.resume import go_on  # which calls `sample`, as we are called by it

    target, init = built(model.target, model.init)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        return go_on(part, target, init, dict(model.given), {"progress": False, **options})


def flags_of_jax() -> dict[str, Any]:
    """JAX's settings by which numbers are made."""
    names = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_default_prng_impl")
    return {name: getattr(jax.config, name) for name in names}


def sample_in_tasks(executor: Any, warm: Warm, model: Model, store: Store | None) -> list[Any]:
    """The trees of all parts, or None for each where draws are in a store."""
    content, flags = model.packed(), flags_of_jax()
    tasks = [(content, None if store else warm.part(part, None), part, store, flags) for part in warm.parts]
    return run_tasks(executor, draw_part, tasks)
