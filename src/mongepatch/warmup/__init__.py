"""Warm-up: step size, base metric, α and trajectory, found from draws that are thrown away."""

from mongepatch.warmup.options import (
    DEFAULT_ACCEPTANCE,
    KernelName,
    MetricName,
    ToFind,
    TrajectoryName,
    parse_kernel,
    parse_tuning,
    takes_residuals,
)
from mongepatch.warmup.state import WarmupState
from mongepatch.warmup.step_size import initial_policy
from mongepatch.warmup.warmup import Choice, default_warmup, tuning_to_begin, tuning_to_try, warm_up

__all__ = [
    "DEFAULT_ACCEPTANCE",
    "Choice",
    "KernelName",
    "MetricName",
    "ToFind",
    "TrajectoryName",
    "WarmupState",
    "default_warmup",
    "initial_policy",
    "parse_kernel",
    "parse_tuning",
    "takes_residuals",
    "tuning_to_begin",
    "tuning_to_try",
    "warm_up",
]
