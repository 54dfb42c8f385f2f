"""The settings of the paper's experiments, by name."""

from dataclasses import dataclass

from mongepatch.errors import SettingError


@dataclass(frozen=True)
class Preset:
    """Settings of one run of the paper, as plain numbers."""

    step_size: float
    """ε."""
    num_steps: int
    """L_F."""
    alpha: float = 0.0
    """α of the Monge metric; 0 where the run is in another metric, or for several α."""
    draws: int = 1
    """Draws kept of one chain, warm-up excluded; 1 where the paper follows a single trajectory."""
    warmup: int = 0
    """Draws discarded first."""
    start: float | tuple[float, ...] = 0.0
    """Starting point; one number stands for all coordinates."""


def _table() -> dict[str, Preset]:
    table = {"ring": Preset(0.03, 200)}
    funnels = {
        1: (0.2, 9), 3: (0.2, 9), 5: (0.09, 25), 10: (0.04, 100), 30: (0.025, 150), 40: (0.02, 180), 50: (0.017, 250),
    }  # fmt: skip
    for dimension, (step_size, num_steps) in funnels.items():
        table[f"funnel-{dimension}"] = Preset(step_size, num_steps, alpha=1.0, draws=60_000, start=5.0)
    for a, step_size, num_steps in ((0.5, 0.07, 13), (1, 0.07, 13), (2, 0.025, 35)):
        table[f"squiggle-{a}"] = Preset(step_size, num_steps, alpha=1.0, draws=60_000, start=(1.0, -1.0))
    regressions = {
        "heart": {"lmc-monge": (0.085, 7), "lmc-fisher": (0.75, 5), "rmhmc-fisher": (0.75, 5), "hmc": (0.18, 25)},
        "german": {"lmc-monge": (0.05, 5), "lmc-fisher": (0.8, 5), "rmhmc-fisher": (0.67, 6), "hmc": (0.063, 64)},
        "australian": {"lmc-monge": (0.085, 6), "lmc-fisher": (0.75, 6), "rmhmc-fisher": (0.75, 6), "hmc": (0.11, 40)},
    }
    for data, methods in regressions.items():
        for method, (step_size, num_steps) in methods.items():
            alpha = 0.01 if method == "lmc-monge" else 0.0
            table[f"{data}-{method}"] = Preset(step_size, num_steps, alpha=alpha, draws=15_000, warmup=5_000)
    return table


PRESETS = _table()
"""Every preset by name: `funnel-D`, `squiggle-a`, `ring`, and `data-method` for the regressions."""


def preset(name: str) -> Preset:
    """The settings of the paper's experiment of this name.

    Example:
        >>> preset("funnel-1").step_size
        0.2
    """
    try:
        return PRESETS[name]
    except KeyError:
        alike = [known for known in PRESETS if known.split("-")[0] == name.split("-")[0]]
        raise SettingError(f"There is no preset {name!r}; there are {', '.join(alike or PRESETS)}.") from None
