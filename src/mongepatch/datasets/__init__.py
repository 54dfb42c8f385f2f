"""Datasets of the paper's logistic regressions, verified by checksum."""

from mongepatch.datasets.catalogue import NAMES
from mongepatch.datasets.dataset import Dataset
from mongepatch.datasets.load import load

__all__ = ["NAMES", "Dataset", "load"]
