"""Trajectories: how far to go before the next draw."""

from mongepatch.trajectories.static import Static, check_trajectory

__all__ = ["Static", "check_trajectory"]
