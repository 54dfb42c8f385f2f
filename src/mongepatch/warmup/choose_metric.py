"""The metric: Euclidean, or a patch or the Monge metric where they pay, with the α of either."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch.coordinates.batches import in_coordinates
from mongepatch.metrics import Monge, Patch, fitted
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.trajectories import Static
from mongepatch.warmup.budget import patch_cost, too_dear
from mongepatch.warmup.curvature import (
    MAX_UNSTABLE_FRACTION,
    Curvature,
    curvature_of,
    recent_unstable_fraction,
    twice_differentiable,
    unstable_fraction,
)
from mongepatch.warmup.efficiency import MIN_BFMI, TrialStatistics, run_trial
from mongepatch.warmup.inverse_mass import is_nearly_normal, variances
from mongepatch.warmup.options import CAREFUL_ACCEPTANCE, ToFind, policy_of
from mongepatch.warmup.schedule import adapt_step_size_and_mass
from mongepatch.warmup.state import WarmupState

MONGE_STIFF = 5.0
"""Curvature, in the scale of M, from which a direction is called stiff."""
MONGE_SINGLE = 0.1
"""The second curvature relative to the first, up to which one direction is stiff alone."""
MONGE_VARIATION = 10.0
"""Ratio of large to small curvatures among the draws from which curvature is said to vary."""
_MONGE_FRACTION = 0.5
"""Fraction of the curvature that α makes up for: beyond it, chains move slowly on the slopes of the bulk."""
MIN_MONGE_ALPHA, MAX_MONGE_ALPHA = 0.2, 2.0
"""Values that the estimate of α is kept between."""

PATCH_ALPHAS = (16.0, 4.0, 2.0)
"""Values of a patch's α that are tried, besides 1. At 16 M hardly counts any more, and more α gains nothing."""
_MIN_STEP_RATIO = 0.5
"""How long, relative to the step at α = 1, a step must stay."""
_STIFF, _VARIATION = 5.0, 2.0
"""Curvature in the scale of M, and its ratio between stiff and soft places, from which steps must be shorter than most
places need. Regressions stay below 2, and kernels of Gaussian processes below 4."""
_SOFT, _FIRST_POINTS = 2.5, 64
"""Curvature up to which so many draws tell enough."""
_CALM_UNSTABLE_FRACTION = 0.001
"""Fraction of draws with unstable steps from which steps must be shorter."""
_MAX_STAYING_DIVERGING, _MAX_WHITENED_DIVERGING = 0.01, 0.02
"""Fraction of trajectories that diverge with short steps, and in whitened coordinates, from which a patch is tried,
whose steps are dear."""
_SEVERE_FRACTION = 0.05
"""Fraction of divergent trajectories, or of draws with unstable steps, that no shorter step would mend."""
_PATCH_GAIN = 2.0
"""How many times the effective draws per second a patch must make where the Euclidean metric is not in trouble: static
trajectories, which are looked for later, may still double what that one makes."""


def take_care(
    state: WarmupState, to_find: ToFind, seen: TrialStatistics, draws: int, trial_draws: int
) -> TrialStatistics:
    """Shorten steps where some places are too stiff for those of the others; return a trial of these, or `seen`.

    A constant metric with shorter steps is enough for most posteriors whose curvature varies, and compiles nothing.
    What stays in trouble with them, or is in such trouble that they would not help, is for `choose_metric`.
    """
    may_be_patch = to_find.metric and to_find.residuals is not None and not state.is_whitened
    # A hundred draws of many chains have no time for it.
    if not may_be_patch or not state.may_shorten_steps(CAREFUL_ACCEPTANCE) or state.has_many_chains:
        return seen
    unstable = recent_unstable_fraction(state)
    if _is_severe(seen, unstable) or not _needs_care(state, seen, unstable):
        return seen
    state.set_target_acceptance(CAREFUL_ACCEPTANCE)
    state.run(draws)
    state.finish_step_size()
    return replace(run_trial(state, trial_draws), is_careful=True)


def _is_severe(seen: TrialStatistics, unstable: float) -> bool:
    """Whether chains are in trouble that shorter steps would not mend.

    A low BFMI counts: the energy changes slowly where the density has a neck, which chains may never have entered.
    """
    return seen.bfmi < MIN_BFMI or max(seen.diverging_fraction, unstable) > _SEVERE_FRACTION


def _needs_care(state: WarmupState, seen: TrialStatistics, unstable: float) -> bool:
    """Whether some places are too stiff for the steps that suit the others."""
    if seen.diverges or unstable > _CALM_UNSTABLE_FRACTION:
        return True
    metric: Any = state.tuning.metric
    rows, density = state.recent_positions(), state.runner.density
    if is_nearly_normal(metric, rows, state.recent_gradients()) or not twice_differentiable(density, rows[0]):
        return False
    some = curvature_of(rows, density, metric.inverse_mass, most=_FIRST_POINTS)
    if some.largest < _SOFT:
        return False
    found = curvature_of(rows, density, metric.inverse_mass)
    return found.largest > _STIFF and found.variation > _VARIATION


def _needs_patch(state: WarmupState, seen: TrialStatistics) -> bool:
    """Whether a constant metric may be wrong, with steps as short as they are now."""
    unstable = recent_unstable_fraction(state)
    return (
        _is_severe(seen, unstable)
        or seen.diverging_fraction > _MAX_STAYING_DIVERGING
        or unstable > MAX_UNSTABLE_FRACTION
    )


def choose_metric(
    state: WarmupState, to_find: ToFind, seen: TrialStatistics, trial_draws: int, alpha_draws: int
) -> str:
    """Change to a patch or the Monge metric where that pays, and find their α; say what was chosen and why."""
    if state.is_whitened and to_find.whitening is not None:
        if to_find.alpha:
            return f"{to_find.whitening.words}; {_try_monge(state)}"
        return _choose_coordinates(state, to_find, seen, trial_draws, alpha_draws)
    left_out = ""
    if to_find.metric and to_find.residuals is not None:
        if not _needs_patch(state, seen):
            return f"metric Euclidean: {_no_need(seen)}"
        to_find = _planned(state, to_find)
        left_out = _left_out(state, to_find, seen, trial_draws)
        reason = f"metric Euclidean: {left_out}" if left_out else _try_patch(state, to_find, seen, trial_draws)
        if isinstance(state.tuning.metric, Patch):
            return f"{reason}; {_choose_patch_alpha(state, alpha_draws)}"
        if not seen.diverges:
            return reason
    if not (to_find.alpha or to_find.metric):
        return ""
    if isinstance(state.tuning.metric, Patch):
        return f"metric Patch, {_choose_patch_alpha(state, alpha_draws)}"
    if not to_find.alpha and not seen.diverges:
        return f"metric Euclidean: {_no_need(seen)}"
    return "; ".join(filter(None, [left_out, _try_monge(state)]))


def _no_need(seen: TrialStatistics) -> str:
    """That there is no reason for another metric; what is said after the run must not contradict it."""
    steps = " with shorter steps" if seen.is_careful else ""
    slow = f", though the energy changes slowly (BFMI {seen.bfmi:.2f})" if seen.bfmi < MIN_BFMI else ""
    return f"hardly any trajectory diverged in warm-up{steps}{slow}"


def _choose_coordinates(
    state: WarmupState, to_find: ToFind, seen: TrialStatistics, trial_draws: int, alpha_draws: int
) -> str:
    """Stay in whitened coordinates, unless chains are in trouble there and a patch is not."""
    assert to_find.whitening is not None  # or chains would not be in such coordinates
    words = to_find.whitening.words
    in_trouble = seen.diverging_fraction > _MAX_WHITENED_DIVERGING or (
        recent_unstable_fraction(state) > MAX_UNSTABLE_FRACTION
    )
    if not (to_find.metric and to_find.residuals is not None and in_trouble):
        return words
    to_find = _planned(state, to_find)
    left_out = _left_out(state, to_find, seen, trial_draws)
    if left_out:
        return f"{words}; {left_out}"
    reason = _try_patch(state, to_find, seen, trial_draws)
    if isinstance(state.tuning.metric, Patch):
        return f"{reason}; {_choose_patch_alpha(state, alpha_draws)}"
    return words


def monge_alpha(curvature: Curvature) -> tuple[float, str]:
    """α of the Monge metric, which may be 0, and why.

    The metric stiffens the direction of the gradient. That helps where one direction is stiff, in some places far more
    than in others, and the gradient points along it: then α² |g|² should make up for a good part of the curvature λ,
    and across a normal density |g|² is λ on average. Where two directions or more are stiff at once, or none, or all
    places alike, α is 0. Effective draws of short runs cannot tell: a chain that never enters a neck looks as good as
    one that does.
    """
    if curvature.largest < MONGE_STIFF:
        return 0.0, f"nothing is stiff: curvatures reach {curvature.largest:.2g} times those of the bulk"
    if curvature.second > MONGE_SINGLE:
        return 0.0, "several directions are stiff at once, and the Monge metric follows one"
    if curvature.variation < MONGE_VARIATION:
        return 0.0, "the curvature is much the same everywhere"
    estimate = np.sqrt(_MONGE_FRACTION / curvature.squared_gradient)
    alpha = float(np.clip(estimate, MIN_MONGE_ALPHA, MAX_MONGE_ALPHA))
    return alpha, f"one direction is stiff, in places {curvature.largest:.2g} times as stiff as in the bulk"


def _try_monge(state: WarmupState) -> str:
    euclidean: Any = state.tuning.metric
    rows, density = state.recent_positions(), state.runner.density
    if not twice_differentiable(density, rows[0]):
        return "metric Euclidean: the density is not twice differentiable in JAX"
    alpha, reason = monge_alpha(curvature_of(rows, density, euclidean.inverse_mass))
    if alpha == 0.0:
        return f"metric Euclidean: {reason}"
    state.change(state.tuning._replace(metric=Monge(alpha, euclidean.inverse_mass)))
    return f"metric Monge, α = {alpha:.2g}: {reason}"


def _try_patch(state: WarmupState, to_find: ToFind, euclidean_trial: TrialStatistics, draws: int) -> str:
    """Try the patch, in the model's own coordinates, and keep it where it is right or makes more; say why.

    Chains in the Euclidean metric may never see the places that are too steep for them, and look fine. Steps of the
    patch are stable there, so that its draws tell what the others missed.
    """
    tuning, step_size, acceptance, records = state.tuning, state.step_size, state.target_acceptance, state.records
    euclidean: Any = tuning.metric
    density: Any = state.runner.density
    rows = state.recent_model_positions()
    patch = Patch(to_find.residuals, 1.0, variances(rows, _unit_base(rows)))
    policy = policy_of(patch)
    if state.in_other_coordinates:
        state.change_coordinates(density.density)
    trajectory: Any = Static(policy.first_length, policy.jitter) if to_find.trajectory else tuning.trajectory
    state.set_target_acceptance(policy.target_acceptance)
    state.change(tuning._replace(metric=patch, trajectory=trajectory))
    adapt_step_size_and_mass(state, to_find, draws)
    state.finish_step_size()
    patch_trial = run_trial(state, euclidean_trial.record.position.shape[1])
    positions = in_coordinates(state.recent_positions(), density)
    unstable = unstable_fraction(positions, density, euclidean, step_size)
    if unstable > MAX_UNSTABLE_FRACTION:
        return f"metric Patch: {unstable:.1%} of the draws lie where the density is too steep for a constant metric"
    if euclidean_trial.diverges and patch_trial.diverging_fraction < euclidean_trial.diverging_fraction:
        return (
            f"metric Patch: {patch_trial.diverging_fraction:.1%} of its trajectories diverge, "
            f"{euclidean_trial.diverging_fraction:.1%} in a constant metric"
        )
    if (
        euclidean_trial.too_slow_to_tell
    ):  # a patch that is no better costs time, where a constant metric may cost the answer
        return "metric Patch: Euclidean chains mixed too slowly to estimate their effective size"
    if patch_trial.ess_per_second > _PATCH_GAIN * euclidean_trial.ess_per_second:
        return "metric Patch: it gave more effective draws per second in a trial than a constant metric"
    state.set_target_acceptance(acceptance)
    if density is not state.runner.density:
        state.tuning = tuning  # or a patch would be looked at in coordinates that are not its own
        state.change_coordinates(density)
        state.records = records
    state.change(tuning, step_size)
    return "metric Euclidean: the patch gave fewer effective draws per second in a trial"


def _planned(state: WarmupState, to_find: ToFind) -> ToFind:
    """The same with residuals that are traced and planned, which takes time and is done once."""
    rows = state.recent_model_positions()
    position = jax.ShapeDtypeStruct(rows.shape[1:], rows.dtype)
    return to_find._replace(residuals=fitted(Patch(to_find.residuals, 1.0, _unit_base(rows)), position).residuals)


def _left_out(state: WarmupState, to_find: ToFind, seen: TrialStatistics, draws: int) -> str:
    """Why a patch is not even tried, where its trial would take too long; else empty."""
    density: Any = state.runner.density
    rows = state.recent_model_positions()
    patch = Patch(to_find.residuals, 1.0, _unit_base(rows))
    cost = patch_cost(patch, density.density if state.in_other_coordinates else density, rows.shape[1], rows.dtype)
    steps = (draws + seen.record.position.shape[1]) * policy_of(patch).first_length / 2
    dear = too_dear(cost, steps)
    return f'the trial of a patch was left out, since {dear} (metric="patch" asks for it)' if dear else ""


def _unit_base(rows: np.ndarray) -> Diagonal:
    return Diagonal(on_device(np.ones(rows.shape[1]), rows.dtype))


def _choose_patch_alpha(state: WarmupState, draws: int) -> str:
    """The largest α that leaves steps about as long as they are; α is 1 at first.

    M is for what the residuals leave open. Elsewhere less of it is better: a step then covers ε/√(1 + α²) widths of a
    parameter, whatever α is. Once M alone holds a direction, ε cannot grow with α.
    """
    metric: Any = state.tuning.metric
    if state.has_fixed_step_size:
        return "α = 1, since the step size is given"
    state.finish_step_size()
    first, step_at_one = state.tuning, state.step_size
    for alpha in PATCH_ALPHAS:
        bent = replace(metric, alpha=on_device(alpha, metric.alpha.dtype))
        stretch = np.sqrt((1.0 + alpha**2) / 2.0)
        state.change(first._replace(metric=bent), step_at_one * stretch)
        state.run(draws // len(PATCH_ALPHAS))
        state.finish_step_size()
        if state.step_size > _MIN_STEP_RATIO * step_at_one * stretch:
            return f"α = {alpha:g}"
    state.change(first, step_at_one)
    return "α = 1"
