"""Values of tables and settings: as they are, for files, and as they are written, for readers."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

LONGEST = 60
"""Characters of a setting that are shown; files hold all of it."""


def scalar(value: Any) -> Any:
    """Python's own number for one of numpy or jax, else the value."""
    return value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value


def plain(value: Any) -> Any:
    """The value in JSON types. JSON has no nan and no infinity: they become strings that `float` reads."""
    value = scalar(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | range):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def is_number(value: Any) -> bool:
    """Whether a value can be sorted as a number; nan and booleans cannot."""
    value = scalar(value)
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def is_missing(value: Any) -> bool:
    """Whether there is no value: None, or nan."""
    value = scalar(value)
    return value is None or (isinstance(value, float) and math.isnan(value))


def written(value: Any, form: str = "") -> str:
    """The value as text for readers."""
    value = scalar(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if is_number(value) and form:
        return format(value, "" if math.isinf(value) else form)  # `d` knows no infinity
    if isinstance(value, float):
        return f"{value:g}"
    return shortened(value if isinstance(value, int) else json.dumps(plain(value), ensure_ascii=False))


def shortened(value: Any) -> str:
    """The beginning of what is long."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
