"""The settings of the paper's experiments."""

import pytest

import mongepatch as mp
from mongepatch.paper import PRESETS, preset


def test_presets_are_the_papers_settings():
    funnel = preset("funnel-1")
    assert (funnel.alpha, funnel.step_size, funnel.num_steps, funnel.draws) == (1.0, 0.2, 9, 60_000)
    assert preset("funnel-50").num_steps == 250
    assert preset("squiggle-2").step_size == 0.025
    assert preset("heart-lmc-monge").alpha == 0.01
    assert preset("german-hmc").num_steps == 64
    assert len(PRESETS) == 1 + 7 + 3 + 12


def test_an_unknown_preset_is_answered_with_similar_names():
    with pytest.raises(mp.SettingError, match="There is no preset 'funnel-2'; there are funnel-1, funnel-3"):
        preset("funnel-2")
