"""Arguments of `sample` as JSON: those of a run that goes on are the ones that it was begun with."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mongepatch._keywords import checked_keywords
from mongepatch.errors import OtherRunError, SettingError
from mongepatch.sampling.until import Until
from mongepatch.targets import Target
from mongepatch.validation import positive_number, whole_number

_MOST_PRECISIONS = ("float32", "float64")


@checked_keywords
@dataclass(frozen=True)
class Store:
    """Where a run's draws are written, with settings of how. A location alone does for most runs.

    Args:
        location: a path, a URL for fsspec or obstore, or a store of zarr.
        dtype: "float32" to store the draws of variables in single precision. The chains keep their own.
        seconds: seconds after which draws that were made are written. A process that dies loses as much work.
        chunk_draws: draws of a chunk of an array; by default as many as make a few megabytes.

    Example:
        >>> store = mp.Store("run.zarr", dtype="float32")
        >>> tree = mp.sample(mp.targets.banana(), warmup=100, store=store, progress=False)
    """

    location: Any
    dtype: str | None = None
    seconds: float = 5.0
    chunk_draws: int | None = None

    def __post_init__(self) -> None:
        if self.dtype is not None and self.dtype not in _MOST_PRECISIONS:
            raise SettingError(f"dtype of a store must be one of {_MOST_PRECISIONS} or None; it is {self.dtype!r}.")
        object.__setattr__(self, "seconds", float(positive_number("seconds", self.seconds)))
        if self.chunk_draws is not None:
            object.__setattr__(self, "chunk_draws", whole_number("chunk_draws", self.chunk_draws))

    @property
    def settings(self) -> dict[str, Any]:
        """All but the location."""
        return {"dtype": self.dtype, "seconds": self.seconds, "chunk_draws": self.chunk_draws}


def settings_to_facts(settings: Mapping[str, Any], target: Any) -> dict[str, Any]:
    """Arguments of `sample` that JSON can hold, and the names of those that have to be given again."""
    plain: dict[str, Any] = {}
    objects: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Until):
            value = {"until": asdict(value)}
        elif isinstance(value, set | frozenset | tuple):
            value = list(value)
        elif isinstance(value, np.generic) or (hasattr(value, "dtype") and np.ndim(value) == 0):
            value = np.asarray(value).item()
        try:
            plain[name] = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            objects[name] = type(value).__name__
    return {"plain": plain, "objects": objects, "is_target": isinstance(target, Target)}


def settings_from_facts(facts: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for `sample`, from those of the run and those that are given again."""
    plain, objects = dict(facts["plain"]), facts["objects"]
    unknown = [name for name in given if name not in plain and name not in objects]
    if unknown:
        raise SettingError(f"{unknown[0]} is no setting of the run: give only what it was begun with.")
    missing = [f"{name}=… (a {kind})" for name, kind in objects.items() if name not in given]
    if missing:
        raise SettingError(
            f"The run was begun with {', '.join(missing)}, which a store does not hold: give the same again."
        )
    until = plain.get("until")
    if isinstance(until, dict):
        plain["until"] = Until(**until["until"])
    for name, value in given.items():
        if name in plain and plain[name] != value:
            raise OtherRunError(f"The run was begun with {name}={plain[name]!r}; now it is {value!r}.")
    return plain | {name: given[name] for name in objects}
