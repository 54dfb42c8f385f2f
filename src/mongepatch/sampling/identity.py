"""Whether a target is the one that a run was begun with: the same density, of the same data."""

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from mongepatch._version import __version__
from mongepatch.errors import OtherRunError, SamplingWarning
from mongepatch.kernels import Kernel
from mongepatch.program import fingerprint_of_code, fingerprint_of_data
from mongepatch.sampling.prepare import Prepared
from mongepatch.sampling.snapshot import arrays_of

MOST_PROBES = 16
"""Chains at whose starting points the density is evaluated."""


def identity_of(prepared: Prepared, kernel: Kernel, points: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Facts and arrays that tell a run's target from others: its program and data, and its values at some points.

    Args:
        prepared: the target.
        kernel: how chains move.
        points: the metric's points where chains start.
    """
    density = prepared.without_whitening().density
    facts = {
        "code": fingerprint_of_code(density),
        "data": fingerprint_of_data(density),
        "names": list(prepared.target.layout.names),
        "shapes": [list(shape) for shape in prepared.target.layout.shapes],
        "kernel": repr(kernel),
        "versions": {"mongepatch": __version__, "jax": jax.__version__},
    }
    return facts, _probes(points)


def check_identity(
    facts: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    prepared: Prepared,
    kernel: Kernel,
    points: Any,
) -> None:
    """Raise unless the target and the kernel are those of a run; warn where they are up to rounding alone."""
    layout = prepared.target.layout
    then = [list(facts["names"]), [list(shape) for shape in facts["shapes"]]]
    now = [list(layout.names), [list(shape) for shape in layout.shapes]]
    if then != now:
        raise OtherRunError(f"The run has the parameters {_words(then)}, and this target has {_words(now)}.")
    if facts["kernel"] != repr(kernel):
        raise OtherRunError(f"The run has the kernel {facts['kernel']}, and now it is {kernel!r}.")
    found = _probes(points)
    stored = {name: values for name, values in arrays.items() if name.startswith("probe.")}
    if found.keys() != stored.keys() or any(
        found[name].shape != stored[name].shape or found[name].dtype != stored[name].dtype for name in found
    ):
        raise OtherRunError(
            "The metric or the precision is not that of the run: give metric, and set jax_enable_x64, as they were."
        )
    if all(found[name].tobytes() == stored[name].tobytes() for name in found):
        return
    tolerance = np.sqrt(np.finfo(prepared.position.dtype).eps)
    if not all(np.allclose(found[name], stored[name], tolerance, tolerance, equal_nan=True) for name in found):
        density = prepared.without_whitening().density
        same_code = fingerprint_of_code(density) == facts["code"]
        same_data = fingerprint_of_data(density) == facts["data"]
        what = "data" if same_code and not same_data else "formula" if same_data else "formula or data"
        raise OtherRunError(
            "The density is not that of the run: at its starting points it, or the metric, has other values. Its "
            f"{what} must have changed. Give the target that the run was begun with, or begin another run."
        )
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    warnings.warn(
        f"The run was begun where the density rounds otherwise, with {versions}: on another machine or with another "
        "version. It goes on, and its draws are valid, but they are not bit for bit those of a run without a break.",
        SamplingWarning,
        stacklevel=2,
    )


def _probes(points: Any) -> dict[str, np.ndarray]:
    return arrays_of("probe", jax.tree.map(lambda leaf: np.asarray(leaf)[:MOST_PROBES], points))


def _words(names_and_shapes: list[Any]) -> str:
    return str(dict(zip(*names_and_shapes, strict=True)))
