"""The misprints of the paper, one by one: what is printed is wrong, and what docs/errata.md puts in its place is right.

Nothing here calls the library's own metrics: every formula is written out again, as printed and as corrected, and held
against automatic differentiation or against a case that can be worked out by hand.
"""

import re
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import random_quartic

ALPHA, EPSILON, D = 0.6, 0.1, 3  # at α = 1 several misprints could not be seen
ell = random_quartic(D)
gradient, hessian = jax.grad(ell), jax.hessian(ell)
X, V = np.array([0.4, -0.7, 0.2]), np.array([0.9, 0.3, -1.1])
Z = np.concatenate([X, V])


def G(x):
    return jnp.eye(D) + ALPHA**2 * jnp.outer(gradient(x), gradient(x))


def stretch(x, alpha=ALPHA):
    return 1 + alpha**2 * gradient(x) @ gradient(x)


def phi(x):
    return -ell(x) + 0.5 * jnp.linalg.slogdet(G(x))[1]


def embed(x):
    return jnp.append(x, ALPHA * ell(x))


class Geometry(NamedTuple):
    """Derivatives at X, as plain arrays. All comes from the surface (x, αℓ(x)) by automatic differentiation."""

    value: np.ndarray
    g: np.ndarray
    H: np.ndarray
    G: np.ndarray
    change: np.ndarray
    """The first index is that of the derivative: change[l, i, j] = ∂ₗGᵢⱼ."""
    force: np.ndarray
    """−∇φ."""
    tangents: np.ndarray
    bends: np.ndarray
    """Second derivatives of the embedding."""
    gamma: np.ndarray
    """Γ[k, i, j]: the part of the bends that lies in the tangent plane."""
    L: np.ndarray


@pytest.fixture(scope="module")
def at():
    @jax.jit
    def geometry(x):
        tangents, bends = jax.jacfwd(embed)(x), jax.jacfwd(jax.jacfwd(embed))(x)
        gamma = jnp.einsum("ka,aij->kij", jnp.linalg.pinv(tangents), bends)
        change = jnp.moveaxis(jax.jacfwd(G)(x), -1, 0)
        return Geometry(
            ell(x), gradient(x), hessian(x), G(x), change, -jax.grad(phi)(x), tangents, bends, gamma, stretch(x)
        )

    return Geometry(*(np.asarray(value) for value in geometry(X)))


def solved_kick(at, v, e):
    """The kick at X as it is defined: (I + eΩ) v′ = v − e G⁻¹∇φ, with Ω from the Christoffel symbols."""
    omega = np.einsum("k,ikj->ij", v, at.gamma)
    return np.linalg.solve(np.eye(D) + e * omega, v + e * np.linalg.solve(at.G, at.force))


def written_kick(x, v, *, alpha=ALPHA, ridge=None, stretched=None):
    """The closed form of Table 1, with the two places in it that are misprinted elsewhere."""
    e, g, H = EPSILON / 2, gradient(x), hessian(x)
    ridge = alpha**-2 if ridge is None else ridge
    stretched = stretch(x, alpha) if stretched is None else stretched
    row = g + e * H @ v
    inner = (alpha**2 * g @ v + e) * g - e * alpha**2 / stretched * H @ g + v
    return inner - g * (row @ inner) / (row @ g + ridge)


def step(z, alpha, last_stretch_at_start):
    """A step of Algorithm 1: its end, and what its four lines on Δ log det have in them."""
    x, v = z[:D], z[D:]
    half = written_kick(x, v, alpha=alpha)
    y = x + EPSILON * half
    stretched = jnp.where(last_stretch_at_start, stretch(x, alpha), stretch(y, alpha))
    end = written_kick(y, half, alpha=alpha, stretched=stretched)
    pairs = ((x, v), (x, half), (y, half), (y, end))
    lines = [EPSILON / 2 * gradient(p) @ hessian(p) @ w / stretch(p, alpha) for p, w in pairs]
    return jnp.concatenate([y, end]), (jnp.concatenate([y, end]), jnp.stack(lines))


differentiated = jax.jit(jax.jacfwd(step, has_aux=True))
kick = jax.jit(written_kick)


def log_volume(lines, factors):
    first, second, third, last = (f * line for f, line in zip(factors, lines, strict=True))
    return (
        np.log(np.abs(1 - second)) - np.log(np.abs(1 + first))
        + np.log(np.abs(1 - last)) - np.log(np.abs(1 + third))
    )  # fmt: skip


def volume_and_lines(alpha=ALPHA, last_stretch_at_start=False):
    jacobian, (_, lines) = differentiated(Z, alpha, last_stretch_at_start)
    return np.linalg.slogdet(jacobian)[1], np.asarray(lines)


def returns_by(last_stretch_at_start=False):
    """How far from its start a step ends that was turned around and made again."""
    turn = np.repeat([1.0, -1.0], D)
    there = differentiated(Z, ALPHA, last_stretch_at_start)[1][0]
    back = differentiated(turn * np.asarray(there), ALPHA, last_stretch_at_start)[1][0]
    return np.abs(turn * np.asarray(back) - Z).max()


# What a sampler would get wrong


@pytest.mark.parametrize("v", [V, -3 * V])
def test_table_1_is_right(at, v):
    np.testing.assert_allclose(kick(X, v), solved_kick(at, v, EPSILON / 2), rtol=1e-12)


def test_algorithm_1_log_determinants():
    right, lines = volume_and_lines()
    a = ALPHA**2
    assert abs(right) > 1e-3
    assert log_volume(lines, (a, a, a, a)) == pytest.approx(right, abs=1e-12)
    assert abs(log_volume(lines, (1, 1, a, 1)) - right) > 0.1 * abs(right)


def test_algorithm_1_log_determinants_hide_at_alpha_one():
    right, lines = volume_and_lines(alpha=1.0)
    assert log_volume(lines, (1, 1, 1, 1)) == pytest.approx(right, abs=1e-12)


def test_algorithm_1_second_velocity_update():
    a = ALPHA**2
    assert returns_by() < 1e-13
    assert returns_by(last_stretch_at_start=True) > 1e-5
    right, lines = volume_and_lines(last_stretch_at_start=True)
    assert abs(log_volume(lines, (a, a, a, a)) - right) > 1e-5


def chains(accept, step_size, num_steps=3, draws=200, n=4000):
    """Algorithm 1 at α = 0 for x ~ N(0, 1), where it is HMC: the last draw of n chains, and the share accepted."""
    rng = np.random.default_rng(1)
    x, accepted = np.full(n, 1.5), []
    for _ in range(draws):
        v = rng.normal(size=n)
        y, w = x, v
        for _ in range(num_steps):
            w = w - 0.5 * step_size * y
            y = y + step_size * w
            w = w - 0.5 * step_size * y
        yes = accept(0.5 * (x**2 + v**2), 0.5 * (y**2 + w**2), rng.random(n))
        x = np.where(yes, y, x)
        accepted.append(yes.mean())
    return x, np.mean(accepted)


ACCEPTANCE = {
    "right": lambda first, last, u: first - last > np.log(u),
    "printed": lambda first, last, u: -first + last > u,
    "only the sign right": lambda first, last, u: first - last > u,
    "only the logarithm right": lambda first, last, u: -first + last > np.log(u),
}


def test_algorithm_1_acceptance():
    x, accepted = chains(ACCEPTANCE["right"], 1.2)
    assert abs(x.mean()) < 5 / np.sqrt(x.size)
    assert x.var() == pytest.approx(1.0, abs=5 * np.sqrt(2 / x.size))
    assert 0.5 < accepted < 0.95
    for name in ("printed", "only the sign right", "only the logarithm right"):
        x, _ = chains(ACCEPTANCE[name], 1.2)
        assert abs((x**2).mean() - 1) > 0.2, name


def test_algorithm_1_acceptance_of_an_exact_integrator():
    """The shorter the step the smaller the error of the energy; printed, none of such proposals is accepted."""
    assert chains(ACCEPTANCE["right"], 0.01, draws=20)[1] > 0.999
    assert chains(ACCEPTANCE["printed"], 0.01, draws=20)[1] < 0.001


def test_supplement_first_update(at):
    right = solved_kick(at, V, EPSILON / 2)
    assert np.abs(kick(X, V, ridge=1 / ALPHA) - right).max() > 0.01
    np.testing.assert_allclose(kick(X, V, ridge=1 / ALPHA**2), right, rtol=1e-12)


def test_supplement_second_velocity_update(at):
    e, matrix = EPSILON / 2, at.G
    left = matrix + e * ALPHA**2 * np.outer(at.g, at.H @ V)
    force = e * at.force
    right = solved_kick(at, V, e)
    np.testing.assert_allclose(np.linalg.solve(left, matrix @ V + force), right, rtol=1e-12)
    printed = np.linalg.solve(left, np.linalg.solve(matrix, V) + force)
    assert np.abs(printed - right).max() > 0.1
    still = np.linalg.solve(matrix, np.linalg.solve(matrix, V))  # printed, even a step of no length kicks
    assert np.abs(still - V).max() > 0.1


def test_christoffel_formula(at):
    d, inverse = at.change, np.linalg.inv(at.G)
    others = np.einsum("jil->lij", d) - np.einsum("lij->lij", d)
    right = 0.5 * np.einsum("kl,lij->kij", inverse, np.einsum("ijl->lij", d) + others)
    printed = 0.5 * np.einsum("kl,lij->kij", inverse, np.einsum("iij->ij", d) + others)
    np.testing.assert_allclose(right, at.gamma, atol=1e-12)
    np.testing.assert_allclose(right, ALPHA**2 / at.L * np.einsum("k,ij->kij", at.g, at.H), atol=1e-12)
    assert np.abs(printed - right).max() > 0.1
    assert np.abs(printed - printed.transpose(0, 2, 1)).max() > 0.1  # a connection without torsion is symmetric


def test_rows_of_the_vectorised_dynamics(at):
    """½G⁻¹(2∂G − (∂ vec G)ᵀ) gives the acceleration, but only its symmetric part is made of Christoffel symbols."""
    d, inverse, gamma = at.change, np.linalg.inv(at.G), at.gamma
    rows = 0.5 * np.einsum("kl,lij->kij", inverse, 2 * np.einsum("jli->lij", d) - d)
    np.testing.assert_allclose(np.einsum("kij,i,j->k", rows, V, V), np.einsum("kij,i,j->k", gamma, V, V), rtol=1e-12)
    np.testing.assert_allclose(0.5 * (rows + rows.transpose(0, 2, 1)), gamma, atol=1e-12)
    assert np.abs(rows - gamma).max() > 0.1
    omegas = [np.einsum("k,ikj->ij", V, symbols) for symbols in (rows, gamma)]
    assert np.abs(omegas[0] - omegas[1]).max() > 0.1


def test_logistic_likelihood():
    """With an intercept alone the printed likelihood puts the probability of a 1 at ȳ/n, where ȳ is right."""
    y = np.array([1.0, 0, 1, 1, 0, 1, 0, 1])
    n, mean = y.size, y.mean()

    probability = np.linspace(0, 1, 80_001)[1:-1]

    def best(exponent):
        likelihood = y.sum() * np.log(probability) + exponent.sum() * np.log1p(-probability)
        return probability[likelihood.argmax()]

    assert best(1 - y) == pytest.approx(mean, abs=1e-4)
    assert best(n - y) == pytest.approx(mean / n, abs=1e-4)


def test_mass_matrix():
    """Trajectories swing at the square roots of the eigenvalues of M⁻¹Σ⁻¹: all alike if M is the inverse covariance."""
    covariance = np.diag([100.0, 4.0, 0.25])
    precision = np.linalg.inv(covariance)

    def spread(mass):
        frequencies = np.sqrt(np.linalg.eigvals(np.linalg.solve(mass, precision)).real)
        return frequencies.max() / frequencies.min()

    assert spread(precision) == pytest.approx(1.0)
    assert spread(np.eye(3)) == pytest.approx(20.0)
    assert spread(covariance) == pytest.approx(400.0)  # worse than no mass matrix at all


def test_sum_in_the_metric_tensor(at):
    tangents = at.tangents
    np.testing.assert_allclose(tangents.T @ tangents, at.G, rtol=1e-13)  # over d = 1 … D + 1
    np.testing.assert_array_equal(tangents[:D].T @ tangents[:D], np.eye(D))  # over d = 1 … D: nothing is left of ℓ


def draws_with_autocorrelation(phi, n, seed):
    noise = np.random.default_rng(seed).normal(size=n)
    x = np.empty(n)
    x[0] = noise[0]
    for t in range(1, n):
        x[t] = phi * x[t - 1] + np.sqrt(1 - phi**2) * noise[t]
    return x


def autocovariances(x):
    x, n = x - x.mean(), x.size
    return np.array([x[: n - t] @ x[t:] / (n - t) for t in range(n - 1)])


def test_effective_sample_size_of_covariances():
    n, phi = 4000, 0.5
    x = draws_with_autocorrelation(phi, n, seed=0)
    covariances = autocovariances(x)
    upto = np.argmax(covariances < 0)  # noise from there on
    truth = n * (1 - phi) / (1 + phi)
    assert n / (1 + 2 * (covariances[1:upto] / covariances[0]).sum()) == pytest.approx(truth, rel=0.25)
    printed = [n / (1 + 2 * scale**2 * covariances[1:upto].sum()) for scale in (0.01, 1.0, 100.0)]
    assert printed[0] > 0.99 * n  # of the same draws in other units: from all to next to none
    assert printed[2] < 0.001 * n


def test_effective_sample_size_over_all_lags():
    """To N − 2, even autocorrelations add up to noise: divided by N they sum to −½, whatever the draws."""
    n, sums = 500, []
    for seed in range(20):
        covariances = autocovariances(draws_with_autocorrelation(0.5, n, seed))
        correlations = covariances / covariances[0]
        weights = 1 - np.arange(n - 1) / n
        last = (weights * correlations)[1:].sum()
        assert last == pytest.approx(-0.5, abs=0.02)  # all but the last lag
        sums.append(1 + 2 * correlations[1:].sum())
    assert min(sums) < 0 < max(sums)  # where 3 is right


# What is wrong without harm to a sampler that follows the rest


def test_normal_vector(at):
    tangents, c = at.tangents, np.sqrt(at.L)
    right = np.append(-ALPHA * at.g, 1.0) / c
    printed = -np.append(ALPHA * at.g, 1.0) / c
    assert np.abs(right @ tangents).max() < 1e-14
    assert np.abs(printed @ tangents).max() > 0.1
    bends = at.bends
    np.testing.assert_allclose(np.einsum("a,aij->ij", right, bends), ALPHA / c * at.H, atol=1e-13)
    np.testing.assert_allclose(np.einsum("a,aij->ij", printed, bends), -ALPHA / c * at.H, atol=1e-13)


def test_what_the_dynamics_conserve(at):
    share = ALPHA**2 / at.L
    acceleration = np.linalg.solve(at.G, at.force) - np.einsum("kij,i,j->k", at.gamma, V, V)
    printed = -share * at.g * (V @ at.H @ V) - np.linalg.solve(at.G, (share * at.H - np.eye(D)) @ at.g)
    np.testing.assert_allclose(printed, acceleration, rtol=1e-12)
    # d/dt of φ + ½vᵀGv, and of E, which has − ½ log det G where φ has + ½ log det G.
    of_hamiltonian = -at.force @ V + 0.5 * np.einsum("lij,l,i,j->", at.change, V, V, V) + acceleration @ at.G @ V
    of_log_det = np.einsum("ij,lji,l->", np.linalg.inv(at.G), at.change, V)
    assert abs(of_hamiltonian) < 1e-12
    assert of_log_det == pytest.approx(2 * share * at.g @ at.H @ V)
    assert abs(of_hamiltonian - of_log_det) > 0.1


def test_paths_of_the_dynamics_are_no_geodesics(at):
    """Where the surface is flat, at α = 0, geodesics are straight; these paths are bent by ∇ℓ."""
    kicked = kick(X, V, alpha=1e-6)
    np.testing.assert_allclose((kicked - V) / (EPSILON / 2), at.g, rtol=1e-6)


def test_velocity_is_the_derivative_by_momentum(at):
    """Of H(x, p) = φ(x) + ½pᵀG⁻¹p, by the derivative of an inverse and by differences."""

    def kinetic(p):
        return 0.5 * p @ np.linalg.solve(at.G, p)

    p = at.G @ V
    by_momentum = [(kinetic(p + 1e-4 * unit) - kinetic(p - 1e-4 * unit)) / 2e-4 for unit in np.eye(D)]
    np.testing.assert_allclose(by_momentum, V, rtol=1e-7)
    by_position = -at.force - 0.5 * np.einsum("lij,i,j->l", at.change, V, V)
    assert np.abs(by_position - V).max() > 0.1


def test_roots_of_the_velocity_draw(at):
    g, norm, root = at.g, at.g @ at.g, np.sqrt(at.L)
    inverse = np.linalg.inv(at.G)
    for t in ((-1 + 1 / root) / norm, (-1 - 1 / root) / norm):
        assert t < 0  # either
        matrix = np.eye(D) + t * np.outer(g, g)
        np.testing.assert_allclose(matrix @ matrix.T, inverse, atol=1e-13)
    t = (-1 + 1 / root) / norm
    assert t == pytest.approx(-(ALPHA**2) / (root * (1 + root)))  # the same, without a division by 0 at a mode
    with_value = np.eye(D) + (2 * t + t**2 * at.value**2) * np.outer(g, g)  # ‖ℓ‖ for ‖∇ℓ‖
    assert np.abs(with_value - inverse).max() > 0.01


# Tables

# Data: D, then method, (min, mean, median) of the ESS, seconds, min and mean a second.
TABLE_2 = {
    "heart": (14, [
        ("LMC-Monge", (15000, 15000, 15000), 34, 441, 441),
        ("LMC-Fisher", (10347, 10848, 10724), 63, 164, 172),
        ("RMHMC-Fisher", (6263, 7391, 7430), 90, 69, 82),
        ("HMC", (378, 1164, 2624), 7, 55, 170),
        ("NUTS", (13804, 14777, 15000), 15, 927, 1055),
    ]),
    "german": (22, [
        ("LMC-Monge", (13390, 14949, 15000), 71, 194, 210),
        ("LMC-Fisher", (13762, 14932, 15000), 202, 68, 74),
        ("RMHMC-Fisher", (14885, 14995, 15000), 252, 49, 59),
        ("HMC", (766, 4803, 15000), 69, 11, 69),
        ("NUTS", (14168, 14960, 15000), 40, 350, 374),
    ]),
    "australian": (15, [
        ("LMC-Monge", (1259, 12932, 15000), 52, 24, 249),
        ("LMC-Fisher", (9636, 10464, 10443), 100, 96, 104),
        ("RMHMC-Fisher", (7824, 9237, 9055), 134, 58, 69),
        ("HMC", (1225, 4440, 10691), 18, 65, 246),
        ("NUTS", (1227, 11715, 15000), 54, 22, 216),
    ]),
}  # fmt: skip


def least_mean(dimension, smallest, median):
    """Of numbers with this minimum and median: the upper half of them at the median, the others at the minimum."""
    below = (dimension - 1) // 2
    return (below * smallest + (dimension - below) * median) / dimension


@pytest.mark.parametrize("data", TABLE_2)
def test_hmc_rows_of_table_2(data):
    printed, rows = TABLE_2[data]
    for dimension in {printed, 21 if data == "german" else printed}:
        for method, (smallest, mean, median), *_ in rows:
            assert (mean < least_mean(dimension, smallest, median)) == (method == "HMC"), method
        # A minimum, a median and a maximum they may be.
        smallest, middle, largest = next(sizes for method, sizes, *_ in rows if method == "HMC")
        assert smallest < middle < largest


def test_rates_of_table_2():
    """No one time, rounded or cut off to the one printed, gives both rates as printed (to ½ if rounded, 1 if cut)."""

    def times(size, rate):
        return size / (rate + 1), size / (rate - 0.5)

    odd = set()
    for data, (_, rows) in TABLE_2.items():
        for method, (smallest, mean, _), seconds, slow, fast in rows:
            ranges = [times(smallest, slow), times(mean, fast), (seconds - 0.5, seconds + 1)]
            if max(low for low, _ in ranges) > min(high for _, high in ranges):
                odd.add((data, method))
    assert odd == {
        ("heart", "NUTS"), ("german", "LMC-Monge"), ("german", "RMHMC-Fisher"), ("german", "NUTS"),
        ("australian", "HMC"),
    }  # fmt: skip


def test_every_test_that_the_page_names_is_here():
    page = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:tests/paper/test_errata.py::)?(test_\w+)`", page))
    here = {name for name in globals() if name.startswith("test_")} - {"test_every_test_that_the_page_names_is_here"}
    assert named == here
