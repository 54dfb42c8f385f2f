"""Trials of warm-up have a budget: what is left out is said, with how to ask for it."""

import jax.numpy as jnp
import pytest
from helpers import sample_quietly, slow_but

import mongepatch as mp
from mongepatch.program import ProgramCost
from mongepatch.warmup import budget


def neck(x):
    """Neal's funnel: v ~ N(0, 3²), nine x ~ N(0, eᵛ)."""
    return -0.5 * (x["v"] / 3) ** 2 - 0.5 * jnp.exp(-x["v"]) * (x["x"] ** 2).sum() - 4.5 * x["v"]


def neck_residuals(x):
    return {"prior": x["v"] / 3, "x": x["x"] * jnp.exp(-0.5 * x["v"])}


INIT = {"v": jnp.zeros(()), "x": jnp.zeros(9)}


def test_what_is_cheap_is_tried_and_what_is_dear_is_not():
    assert budget.too_dear(ProgramCost(2_600, 1.4e6), 2_100) == ""  # the largest that profit from a patch
    assert "6,574 operations, above 5,000" in budget.too_dear(ProgramCost(6_574, 5e6), 2_100)
    assert "168 billion operations, above 20" in budget.too_dear(ProgramCost(2_000, 8e7), 2_100)


@pytest.mark.parametrize("limit", slow_but(["MAX_COMPILED", "MAX_EXECUTED"], "MAX_COMPILED"))
def test_a_trial_that_is_left_out_is_said(limit, monkeypatch):
    monkeypatch.setattr(budget, limit, 10)
    settings = {"residuals": neck_residuals, "whiten": False, "warmup": 300, "draws": 10, "progress": False}
    tree = sample_quietly(neck, INIT, **settings, trajectory="nuts", seed=1)
    attrs = tree["posterior"].attrs
    assert attrs["metric"] != "Patch"
    assert "the trial of a patch was left out, since it" in attrs["chosen"]
    assert '(metric="patch" asks for it)' in attrs["chosen"]


def test_what_is_asked_for_has_no_budget(monkeypatch):
    monkeypatch.setattr(budget, "MAX_COMPILED", 10)
    settings = {"residuals": neck_residuals, "metric": "patch", "trajectory": mp.Static(2), "step_size": 0.1}
    tree = sample_quietly(neck, INIT, **settings, warmup=20, draws=5, progress=False)
    assert tree["posterior"].attrs["metric"] == "Patch"
