"""What `mongepatch sample`, `resume`, `extend`, `merge` and `summary` do."""

import json
import os
import runpy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mongepatch._cache import cache_folder, keep
from mongepatch._commands import to_extend, to_resume
from mongepatch._extras import require
from mongepatch.errors import ModelError, SamplingInterrupted, SamplingWarning, SettingError
from mongepatch.sampling import Until
from mongepatch.sampling import extend as extend_run
from mongepatch.sampling import resume as resume_run
from mongepatch.sampling import sample as sample_run
from mongepatch.sampling.cluster.merge import merge as merge_runs
from mongepatch.sampling.stored import read_run
from mongepatch.store import files_at
from mongepatch.store.container import digest
from mongepatch.store.run_store import check_free
from mongepatch.summary_page import write_page
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree

DONE, INTERRUPTED, NOT_REACHED = 0, 3, 4
"""Exit codes; 1 is an error, and 2 a wrong use of the command."""


def sample_into(model: str, store: str, until: str | None, settings: dict[str, Any], *, as_json: bool) -> int:
    """Sample a model of a file into a store; return the exit code."""
    target, init = load_model(model)
    settings["until"] = None if until is None else parse_until(until)
    check_free(files_at(store))  # or the model of the run that is there would be forgotten
    _remember(store, model)
    return _told(store, lambda: sample_run(target, init, store=store, **settings), as_json=as_json)


def resume_from(store: str, model: str | None, draws: int | None, *, progress: bool, as_json: bool) -> int:
    """Go on with a run; return the exit code."""
    target, init = _model_of(store, model, to_resume(store))
    return _told(store, lambda: resume_run(store, target, init, draws=draws, progress=progress), as_json=as_json)


def extend_by(store: str, model: str | None, draws: int, *, progress: bool, as_json: bool) -> int:
    """Add draws to a run; return the exit code."""
    target, init = _model_of(store, model, to_extend(store))
    return _told(store, lambda: extend_run(store, target, init, draws=draws, progress=progress), as_json=as_json)


def merge_into(stores: list[str], out: str, *, as_json: bool) -> int:
    """Merge stores into another; return the exit code."""
    return _told(out, lambda: merge_runs(stores, out), as_json=as_json)


def summarize(store: str, only: list[str], html: Path | None, *, as_json: bool) -> None:
    """Print a table of a store, or JSON, and what `sample` said of the run; write a page with plots, if asked.

    Args:
        store: where it is.
        only: names of the variables to show; all where it is empty. The run is judged by all.
        html: a file for the page.
        as_json: whether to print JSON.
    """
    run = read_run(store)
    posterior = run.tree["posterior"].to_dataset()
    there = [str(name) for name in posterior]
    unknown = [name for name in only if name not in there]
    if unknown:
        raise SettingError(f"{store} has no variable {unknown[0]!r}: its variables are {', '.join(there)}.")
    summary = require("arviz_stats", "sample", "A summary").summary
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws have no figures
        table = summary(posterior[list(dict.fromkeys(only))] if only else posterior, round_to="none")
    if html is not None:
        write_page(html, store, run.tree, table, run.messages)
    facts = _facts(run.tree) | {"interrupted": run.interrupted, "divergences": run.divergences}
    if as_json:
        rows = {name: {column: float(value) for column, value in row.items()} for name, row in table.iterrows()}
        print(json.dumps({"store": store, **facts, "messages": run.messages, "variables": rows}))
        return
    print(table.to_string(float_format=lambda value: f"{value:.4g}"))
    print(f"\n{facts['chains']} × {facts['draws']:,} draws, {run.divergences:,} divergent trajectories.")
    for message in run.messages:
        print(f"\n{message}")


def load_model(named: str) -> tuple[Target | Callable[..., Any], Any]:
    """The target that FILE.py:NAME names, and a starting point, which is called `init` in the file."""
    path, _, name = named.rpartition(":")
    if not path:
        raise SettingError(f"A model is named by FILE.py:NAME, such as model.py:target; this is {named!r}.")
    if not Path(path).is_file():
        what = "is not a file" if Path(path).exists() else "does not exist"
        raise SettingError(f"{path} {what}: a model is named by FILE.py:NAME, and this is {named!r}.")
    found = runpy.run_path(path)
    if name not in found:
        raise SettingError(f"{path} has no {name!r}.")
    target = found[name]
    if not isinstance(target, Target) and not callable(target):
        raise ModelError(f"{named} must be a Target or a log density; it is a {type(target).__name__}.")
    return target, found.get("init")


def _model_of(store: str, model: str | None, again: str) -> tuple[Target | Callable[..., Any], Any]:
    """The model of a run that goes on. Which code to run is never read from the store."""
    named = model or _remembered(store)
    if named is None:
        raise SettingError(
            f"It is not known on this machine which model {store} is of: name it, as in {again} FILE.py:NAME"
        )
    return load_model(named)


def parse_until(words: str) -> Until:
    """`ess=400,rhat=1.01` as an `Until`."""
    settings: dict[str, Any] = {}
    for part in words.split(","):
        name, _, value = part.partition("=")
        if name not in Until.__dataclass_fields__:
            raise SettingError(f"until takes {', '.join(Until.__dataclass_fields__)}; {part!r} is none of them.")
        try:
            settings[name] = int(value) if name == "max_draws" else float(value)
        except ValueError as error:
            raise SettingError(f"{name} of until must be a number; it is {value!r}.") from error
    return Until(**settings)


def _told(store: str, run: Callable[[], "DataTree"], *, as_json: bool) -> int:
    """Run, print how it ended, and return the exit code."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SamplingWarning)
            tree = run()
    except SamplingInterrupted as error:
        _print(as_json, {"store": store, "state": "interrupted", "message": str(error)}, str(error))
        return INTERRUPTED
    except KeyboardInterrupt:  # the second one
        line = f"Stopped. {to_resume(store)} goes on from the last checkpoint."
        _print(as_json, {"store": store, "state": "interrupted", "message": line}, line)
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # JAX would wait for the chunk that still runs
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, SamplingWarning)]
    facts = _facts(tree)
    code = INTERRUPTED if facts["interrupted"] else DONE
    if any("before its target was reached" in message for message in messages):
        code = NOT_REACHED
    for message in messages:
        print(message, file=sys.stderr)
    state = {DONE: "done", INTERRUPTED: "interrupted", NOT_REACHED: "target not reached"}[code]
    line = f"{facts['chains']} × {facts['draws']:,} draws are in {store}."
    _print(as_json, {"store": store, "state": state, **facts, "messages": messages}, line)
    return code


def _print(as_json: bool, facts: dict[str, Any], line: str) -> None:
    print(json.dumps(facts) if as_json else line)


def _facts(tree: "DataTree") -> dict[str, Any]:
    sizes, attrs = tree["posterior"].sizes, tree["posterior"].attrs
    names = ("kernel", "metric", "trajectory", "step_size", "warmup_time", "sampling_time")
    own = {"chains": sizes["chain"], "draws": sizes["draw"], "interrupted": bool(attrs.get("interrupted", 0))}
    return own | {name: attrs[name] for name in names if name in attrs}


def _note(store: str) -> Path:
    """Where this machine remembers which model a store is of."""
    where = store if "://" in store else str(Path(store).absolute())
    return cache_folder("runs") / digest(where.encode())


def _remember(store: str, model: str) -> None:
    path, _, name = model.rpartition(":")
    keep(_note(store), f"{Path(path).absolute()}:{name}")


def _remembered(store: str) -> str | None:
    note = _note(store)
    return note.read_text(encoding="utf-8") if note.exists() else None
