"""Trajectories: how far to go before the next draw."""

from mongepatch.trajectories.static import Static

__all__ = ["Static"]
