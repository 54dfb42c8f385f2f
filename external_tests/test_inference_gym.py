"""Targets of Inference Gym, as the page on interoperability has them, beside their ground truth."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its own, of old names
    pytest.importorskip("inference_gym", reason="needs inference_gym: pip install inference_gym tfp-nightly")
    gym = pytest.importorskip("inference_gym.using_jax", reason="needs TensorFlow Probability on JAX: tfp-nightly")

from helpers import Known, largest_deviation

PAGE = Path(__file__).parent.parent / "docs" / "interoperability.md"


@pytest.fixture(scope="module")
def page():
    """What the code of the page defines."""
    namespace = {}
    warnings.simplefilter("ignore")  # TensorFlow Probability's
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, namespace)
    return namespace


def test_the_page_runs_our_kernel_in_blackjax_and_is_right(page):
    v = np.asarray(page["positions"]["v"])
    assert v.shape == (5000,)
    assert abs(v.mean()) < 1.5  # one chain of a funnel: a few dozen effective draws
    assert 2.0 < v.std() < 4.0
    assert page["infos"].acceptance_rate.mean() > 0.6


def test_eight_schools_has_the_moments_of_its_ground_truth(page):
    target = gym.targets.VectorModel(gym.targets.EightSchools(), flatten_sample_transformations=True)
    truth = target.sample_transformations["identity"]
    draws = np.asarray(page["back"](np.asarray(page["schools"]["posterior"]["x"])), float)
    parts = (
        truth.ground_truth_mean,
        truth.ground_truth_standard_deviation,
        truth.ground_truth_mean_standard_error,
        np.zeros(10),  # the error of a deviation is not given, and small beside ours
    )
    known = {str(i): Known(*(float(part[i]) for part in parts)) for i in range(10)}
    assert largest_deviation({str(i): draws[..., i] for i in range(10)}, known) < 4.0
