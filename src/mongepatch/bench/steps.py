"""Step sizes for samplers that have no preset: what an expert would find by trial."""

from typing import Any

import numpy as np

from mongepatch.bench.quiet import sample_quietly

TRIALS = 9
PILOT_DRAWS = 100


def step_size_for(acceptance: float, first: float, *arguments: Any, **settings: Any) -> float:
    """The step size at which `sample` accepts about this share, by bisection of its logarithm."""
    low, high = np.log(first) - 4.0, np.log(first) + 4.0
    for _ in range(TRIALS):
        middle = 0.5 * (low + high)
        settings |= {"step_size": float(np.exp(middle)), "draws": PILOT_DRAWS, "warmup": PILOT_DRAWS}
        tree = sample_quietly(*arguments, **settings, progress=False)
        if float(tree["sample_stats"]["acceptance_rate"].mean()) > acceptance:
            low = middle
        else:
            high = middle
    return float(np.exp(low))
