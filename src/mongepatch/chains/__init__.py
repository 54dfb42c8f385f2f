"""Many chains side by side: some draws of all of them, and a record of what they did."""

from mongepatch.chains.chunks import Settings
from mongepatch.chains.pace import Fixed, Pace
from mongepatch.chains.runner import Record, Report, Runner
from mongepatch.chains.states import states_at

__all__ = ["Fixed", "Pace", "Record", "Report", "Runner", "Settings", "states_at"]
