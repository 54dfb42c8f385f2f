"""What warm-up found, as a group of a result, and read from it for another run."""

import os
import zlib
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._auto import ToBeFound
from mongepatch._extras import require
from mongepatch._groups import LIBRARY, group_of
from mongepatch.coordinates import Information, MappedDensity, WhitenedDensity
from mongepatch.coordinates.batches import OtherCoordinates
from mongepatch.coordinates.outer import OuterMap
from mongepatch.errors import SettingError
from mongepatch.metrics import Euclidean, Metric, Monge, Patch
from mongepatch.metrics.inverse_mass import Correlated, Diagonal, Identity
from mongepatch.metrics.low_rank import LowRank
from mongepatch.sampling.initial_values import InitialValues
from mongepatch.sampling.prepare import Prepared
from mongepatch.store import Container, open_store
from mongepatch.targets.layout import Layout
from mongepatch.trajectories import NUTS, Static, in_use
from mongepatch.warmup import WarmupState

if TYPE_CHECKING:
    from xarray import Dataset

_BASES: tuple[Any, ...] = (Identity, Diagonal, Correlated, LowRank)
_DIMS = {
    "position": ("chain", "parameter"),
    "center": ("parameter",),
    "inverse_mass_variance": ("parameter",),
    "inverse_mass_covariance": ("parameter", "other_parameter"),
    "inverse_mass_factor": ("parameter", "other_parameter"),
    "inverse_mass_scale": ("parameter",),
    "inverse_mass_directions": ("parameter", "direction"),
    "inverse_mass_eigenvalues": ("direction",),
    "information_matrix": ("observed", "entry"),
    "information_vector": ("observed", "inner"),
    **{f"outer_{name}": ("outer",) for name in OuterMap._fields},
}
"""Dims of the variables of the group; all others are numbers."""


def tuning_group(state: WarmupState, position: np.ndarray, layout: Layout, chosen: str) -> "Dataset":
    """The group `tuning`.

    Args:
        state: at the end of warm-up.
        position: a draw of each chain to go on from, flat and in the model's own coordinates.
        layout: names of the parameters.
        chosen: what was chosen, for a person to read.
    """
    xarray = require("xarray", "sample", "A result")
    metric: Any = state.tuning.metric
    arrays: dict[str, Any] = {"step_size": state.step_size, "position": position}
    attrs: dict[str, Any] = {
        "kernel": state.runner.kernel.name,
        "metric": type(metric).__name__,
        "chosen": chosen,
        "target_acceptance": state.target_acceptance,
    }
    if isinstance(metric, Monge | Patch):
        arrays["alpha"] = metric.alpha
    if isinstance(metric, Euclidean) and metric.turns:
        arrays |= {"center": metric.center, "frequency": metric.frequency}
    base: Any = getattr(metric, "inverse_mass", None)
    if isinstance(base, _BASES):
        attrs["inverse_mass"] = type(base).__name__
        arrays |= {f"inverse_mass_{part.name}": getattr(base, part.name) for part in fields(base)}
    density = state.runner.density
    if isinstance(density, WhitenedDensity):
        arrays |= {f"information_{name}": part for name, part in density.information._asdict().items()}
    if isinstance(density, OtherCoordinates):
        arrays |= {f"outer_{name}": part for name, part in density.outer_map._asdict().items()}
    attrs |= _trajectory_attributes(in_use(state.tuning.trajectory))
    return _dataset(xarray, arrays, layout, {**LIBRARY, **attrs})


def _dataset(xarray: Any, arrays: Mapping[str, Any], layout: Layout, attrs: Mapping[str, Any]) -> Any:
    variables = {name: (_DIMS.get(name, ()), np.asarray(array)) for name, array in arrays.items()}
    return xarray.Dataset(variables, {"parameter": _labels(layout)}, attrs)


def _trajectory_attributes(trajectory: Any) -> dict[str, Any]:
    if isinstance(trajectory, NUTS):
        return {"trajectory": "NUTS", "max_depth": trajectory.max_depth, "u_turn": trajectory.u_turn}
    if isinstance(trajectory, Static):
        numbers = {name: float(getattr(trajectory, name)) for name in ("jitter", "step_size_jitter")}
        return {"trajectory": "Static", "num_steps": int(trajectory.num_steps), **numbers}
    return {"trajectory": "none" if trajectory is None else type(trajectory).__name__}


def _labels(layout: Layout) -> list[str]:
    """A name for each entry of a flat position, such as `theta[0, 2]`."""
    labels = []
    for name, shape in zip(layout.names, layout.shapes, strict=True):
        places = product(*map(range, shape))
        labels += [f"{name}[{', '.join(map(str, place))}]" if place else name for place in places]
    return labels


def tuning_to_container(group: "Dataset") -> Container:
    """The group as arrays and JSON, without the labels of parameters: those of a run are in it anyway."""
    arrays = {f"tuning.{name}": np.asarray(values) for name, values in group.data_vars.items()}
    return Container(arrays, {"tuning": {name: np.asarray(value).item() for name, value in group.attrs.items()}})


def tuning_of_container(begun: Container) -> "Dataset | None":
    """The inverse, for a run that goes on; None for one that took no tuning."""
    if "tuning" not in begun.facts:
        return None
    xarray = require("xarray", "sample", "A result")
    arrays = {name[7:]: array for name, array in begun.arrays.items() if name.startswith("tuning.")}
    layout = Layout(tuple(begun.facts["names"]), tuple(map(tuple, begun.facts["shapes"])))
    dataset: Dataset = _dataset(xarray, arrays, layout, begun.facts["tuning"])
    return dataset


class FoundTuning(NamedTuple):
    """What an earlier run found, for a run without warm-up."""

    group: "Dataset"

    @classmethod
    def of(cls, tree: Any) -> "FoundTuning":
        """The tuning of a result, of its group `tuning`, or of the store at a path or URL."""
        tree = open_store(tree) if isinstance(tree, str | os.PathLike) else tree
        group = tree if hasattr(tree, "data_vars") and "step_size" in tree.data_vars else group_of(tree, "tuning")
        return cls(group.to_dataset() if hasattr(group, "to_dataset") else group)

    @property
    def step_size(self) -> float:
        """ε."""
        return float(self.group["step_size"])

    @property
    def chosen(self) -> str:
        """What was chosen then, for a person to read."""
        return str(self.group.attrs["chosen"])

    @property
    def takes_residuals(self) -> bool:
        """Whether the metric or the coordinates of then are made from residuals."""
        return self.group.attrs["metric"] == "Patch" or "information_vector" in self.group

    @property
    def has_maps(self) -> bool:
        """Whether chains moved in coordinates of which some are made normal one by one."""
        if "outer_skew" not in self.group or "information_vector" in self.group:
            return False
        return bool((self.group["outer_skew"] != 0).any() | (self.group["outer_tail"] != 1).any())

    def whitens(self, whiten: Any) -> bool:
        """Whether chains move in whitened coordinates, as they did then; raise where the user asks for others."""
        found = "information_vector" in self.group
        if whiten != "auto" and (whiten is not found or (whiten is False and self.has_maps)):
            where = "in" if found else "without"
            coordinates = f"{where} whitened coordinates" if not self.has_maps else "in coordinates made normal"
            raise SettingError(
                f"whiten={whiten} does not go with tuning, which was found {coordinates}: leave out whiten, or "
                "leave out tuning."
            )
        return found

    def prepared(self, prepared: Prepared, kernel: str) -> Prepared:
        """A target that is ready to be sampled, with the coordinates of then; raise where the tuning does not fit."""
        if self.group.attrs["kernel"] != kernel:
            raise SettingError(
                f"tuning was found for the kernel {self.group.attrs['kernel']!r}, not {kernel!r}: give the same."
            )
        if [str(label) for label in self.group["parameter"].values] != _labels(prepared.target.layout):
            raise SettingError("tuning was found for other parameters than those of this target: leave it out.")
        if prepared.init is None:
            rows = np.asarray(self.group["position"]).astype(prepared.position.dtype)
            numbers = prepared.placement.offset + np.arange(prepared.chains)
            start = InitialValues(rows[numbers % len(rows)], of_tuning=True)
            # Other randomness than that of the run before: with the same, chains would approach its draws.
            key = jax.random.fold_in(prepared.keys.run, zlib.crc32(rows.tobytes()))
            keys = prepared.keys._replace(run=key)
            prepared = replace(prepared, init=start, per_chain=True, keys=keys)
        density = prepared.density
        if self.has_maps and not isinstance(density, MappedDensity):
            raise SettingError(
                "tuning was found in coordinates made normal, which this target does not have: leave it out."
            )
        if not isinstance(density, OtherCoordinates):
            return prepared
        dtype = prepared.position.dtype
        parts: dict[str, Any] = {"outer_map": self._parts("outer", OuterMap, dtype)}
        if isinstance(density, WhitenedDensity):
            parts["information"] = self._parts("information", Information, dtype)
        for name, part in parts.items():
            if any(mine.shape != theirs.shape for mine, theirs in zip(part, getattr(density, name), strict=True)):
                raise SettingError("tuning was found for data of other shapes, in other coordinates: leave it out.")
        return replace(prepared, density=replace(density, **parts))

    def metric(self, given: Any, residuals: Any) -> Any:
        """The metric of then for "auto", or a given one, of which what is to be found is that of then.

        Args:
            given: a metric, or its name.
            residuals: what a patch is made from.
        """
        name = self.group.attrs["metric"]
        if not isinstance(given, str):
            return self._completed(given)
        if given not in ("auto", name.lower()):
            return given
        alpha, base = self._found("alpha"), self._inverse_mass()
        if name == "Patch" and residuals is not None:
            return Patch(residuals, alpha, base)
        if name == "Monge":
            return Monge(alpha, base)
        if name == "Euclidean":
            return Euclidean(base, **self._center())
        raise SettingError(
            f"tuning was found for a metric of the class {name}, whose functions a result does not hold: give metric, "
            "and residuals where they were given."
        )

    def trajectory(self, given: Any) -> Any:
        """The trajectory of then for "auto", or the given one."""
        attrs = self.group.attrs
        if not isinstance(given, str) or given not in ("auto", attrs["trajectory"].lower()):
            return given
        if attrs["trajectory"] == "NUTS":
            return NUTS(int(attrs["max_depth"]), str(attrs["u_turn"]))  # type: ignore[arg-type]
        if attrs["trajectory"] == "Static":
            jitters = (float(attrs.get(name, 0.0)) for name in ("jitter", "step_size_jitter"))
            return Static(int(attrs["num_steps"]), *jitters)
        return None if attrs["trajectory"] == "none" else given

    def _completed(self, metric: Metric) -> Metric:
        found: Mapping[str, Any] = {"alpha": self._found("alpha"), "inverse_mass": self._inverse_mass()}
        missing = {name: value for name, value in found.items() if isinstance(getattr(metric, name, None), ToBeFound)}
        if not missing or type(metric).__name__ != self.group.attrs["metric"]:
            return metric
        if isinstance(metric, Euclidean):
            missing |= self._center()
        return replace(metric, **missing)  # type: ignore[type-var]

    def _center(self) -> dict[str, Any]:
        """What x and v turned around, and how fast; nothing where steps were leapfrog."""
        if "center" not in self.group:
            return {}
        return {"center": self._array("center"), "frequency": self._found("frequency")}

    def _found(self, name: str) -> Any:
        return float(self.group[name]) if name in self.group else None

    def _inverse_mass(self) -> Any:
        kinds = {kind.__name__: kind for kind in _BASES}
        kind: Any = kinds.get(str(self.group.attrs.get("inverse_mass")))
        return None if kind is None else kind(*(self._array(f"inverse_mass_{part.name}") for part in fields(kind)))

    def _parts(self, prefix: str, kind: Any, dtype: Any) -> Any:
        return kind(*(self._array(f"{prefix}_{name}", dtype) for name in kind._fields))

    def _array(self, name: str, dtype: Any = None) -> Any:
        return on_device(np.asarray(self.group[name]), dtype)
