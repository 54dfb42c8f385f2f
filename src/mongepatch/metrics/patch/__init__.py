"""The metric of a vector patch: `patch` says what it is, the other files how it is computed fast."""

from mongepatch.metrics.patch.patch import Patch

__all__ = ["Patch"]
