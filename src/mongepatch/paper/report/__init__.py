"""The report: one page that holds all it shows, and the same as files."""

from mongepatch.paper.report.part import Part
from mongepatch.paper.report.write import write

__all__ = ["Part", "write"]
