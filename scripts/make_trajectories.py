"""Writes docs/explorer/trajectories.json: trajectories of `mp.integrate` that the explorer's own integrator must give.

Run it after a change of the integrator, the Monge metric or a target: `.venv/bin/python scripts/make_trajectories.py`.
"""

import json
from pathlib import Path
from typing import Any

import jax

import mongepatch as mp

STORED = Path(__file__).parent.parent / "docs" / "explorer" / "trajectories.json"
STEPS = 12
CASES: tuple[tuple[str, float, list[float], list[float], float], ...] = (
    ("funnel", 1.0, [0.25, -4.0], [0.1, -1.0], 0.2),
    ("funnel", 0.0, [0.25, -4.0], [0.1, -1.0], 0.05),
    ("funnel", 0.3, [2.0, 6.0], [-1.0, 0.5], 0.4),
    ("whitened", 1.0, [1.2, -3.0], [-0.4, -1.1], 0.3),
    ("whitened", 0.0, [1.2, -3.0], [-0.4, -1.1], 0.3),
    ("ring", 0.5, [12.2, 0.5], [0.1, 1.3], 0.2),
    ("ring", 0.0, [12.2, 0.5], [0.1, 1.3], 0.1),
    ("squiggle", 0.3, [-1.2, 0.93], [0.8, -0.29], 0.03),
    ("squiggle", 0.0, [-1.2, 0.93], [0.8, -0.29], 0.02),
    ("banana", 0.3, [0.85, 0.1], [0.2, 1.1], 0.06),
    ("banana", 0.0, [0.85, 0.1], [0.2, 1.1], 0.06),
)
"""Name of a target, α, position, velocity, ε."""


def target(name: str) -> mp.targets.Target:
    """The target that the explorer shows by this name."""
    if name == "whitened":
        return mp.whiten(mp.targets.funnel(1))
    found: mp.targets.Target = mp.targets.funnel(1) if name == "funnel" else getattr(mp.targets, name)()
    return found


def trajectories(of: str | None = None) -> list[dict[str, Any]]:
    """Every case, or those of one target, with the rows that `mp.integrate` gives for it."""
    made = []
    for name, alpha, position, velocity, step_size in CASES:
        if of not in (None, name):
            continue
        path = mp.integrate(target(name), mp.Monge(alpha), position, velocity, step_size, STEPS)
        rows = {
            "position": path.position,
            "velocity": path.velocity,
            "energy": path.energy,
            "log_volume": path.log_volume,
        }
        case = {"target": name, "alpha": alpha, "step_size": step_size}
        made.append(case | {field: values.tolist() for field, values in rows.items()})
    return made


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    lines = ",\n".join(json.dumps(case) for case in trajectories())
    STORED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{STORED.stat().st_size:,} bytes in {STORED}")
