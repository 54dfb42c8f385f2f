"""Checkpoints: small files that say how far a run is. The last two are kept, so that one may be damaged."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from mongepatch.errors import DamagedStoreError, OtherRunError, SamplingWarning, StoreError
from mongepatch.store.container import Container, pack, unpack
from mongepatch.store.files import Files

_NAMES = ("_mongepatch/checkpoint-0", "_mongepatch/checkpoint-1")


class Checkpoints:
    """The checkpoints of a store: written in turn, and read by their numbers."""

    def __init__(self, files: Files) -> None:
        self._files, self._next = files, 0
        self._with_draws = 0

    def newest(self) -> Container | None:
        """The last checkpoint that is whole; None where there is none at all."""
        found: list[Container] = []
        faults: list[StoreError] = []
        for name in _NAMES:
            content = self._files.read(name)
            try:
                if content is not None:
                    found.append(_checked(unpack(content, f"{self._files.words}/{name}"), name))
            except (DamagedStoreError, OtherRunError) as error:
                faults.append(error)
        if faults and not found:
            raise faults[0]
        if not found:
            return None
        newest = max(found, key=lambda checkpoint: checkpoint.facts["number"])
        if faults:
            warnings.warn(
                f"{faults[0]} The checkpoint before it is used: draws that were made after it are made again.",
                SamplingWarning,
                stacklevel=2,
            )
        self._next = newest.facts["number"] + 1
        return newest

    @property
    def both_have_draws(self) -> bool:
        """Whether no checkpoint refers to parts of the warm-up any more."""
        return self._with_draws >= len(_NAMES)

    def write(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
        """Write the next checkpoint, in the place of the last but one."""
        content = pack(arrays, {**facts, "number": self._next})
        self._files.write(_NAMES[self._next % len(_NAMES)], content)
        self._next += 1
        self._with_draws += "draws" in facts.get("own", {})


def _checked(checkpoint: Container, name: str) -> Container:
    number = checkpoint.facts.get("number")
    if not isinstance(number, int) or number < 0 or _NAMES[number % len(_NAMES)] != name:
        raise DamagedStoreError(f"{name} is not the checkpoint that was written there.")
    return checkpoint
