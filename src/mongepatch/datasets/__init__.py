"""Datasets: the paper's logistic regressions, checked number by number."""

from mongepatch.datasets.catalogue import NAMES
from mongepatch.datasets.dataset import Dataset
from mongepatch.datasets.load import load

__all__ = ["NAMES", "Dataset", "load"]
