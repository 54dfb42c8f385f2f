"""Many chains side by side: some draws of all of them, and a record of what they did."""

from mongepatch.chains.ahead import compile_ahead
from mongepatch.chains.chunks import points_at
from mongepatch.chains.draws import StepSizePolicy, Tuning
from mongepatch.chains.placement import Placement
from mongepatch.chains.runner import Record, Report, Runner, concatenated, joined

__all__ = [
    "Placement",
    "Record",
    "Report",
    "Runner",
    "StepSizePolicy",
    "Tuning",
    "compile_ahead",
    "concatenated",
    "joined",
    "points_at",
]
