"""Trajectories: how far to go before the next draw."""

from mongepatch.trajectories.base import Dynamics, SteppedTrajectory, Trajectory, Transition, check_trajectory
from mongepatch.trajectories.nuts import NUTS
from mongepatch.trajectories.nuts_or_static import NUTSOrStatic, in_use, meaningless_statistics, nuts_of
from mongepatch.trajectories.static import Static

__all__ = [
    "NUTS",
    "Dynamics",
    "NUTSOrStatic",
    "Static",
    "SteppedTrajectory",
    "Trajectory",
    "Transition",
    "check_trajectory",
    "in_use",
    "meaningless_statistics",
    "nuts_of",
]
