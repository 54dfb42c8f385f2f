"""The report: one page that needs no other file, and the same content as files."""

from mongepatch.paper.report.facts import Part
from mongepatch.paper.report.write import write

__all__ = ["Part", "write"]
