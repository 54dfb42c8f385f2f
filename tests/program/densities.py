"""Log densities written in many styles, and the residuals that must be read off each."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.stats import cauchy, multivariate_normal, norm, t
from numpyro.infer.util import potential_energy

Y, ERRORS = np.array([0.3, -1.2, 0.7]), np.array([1.5, 1.0, 0.6])
GROUP = np.array([0, 0, 1, 2, 2])
DATA = np.array([0.1, 0.4, -0.3, 1.1, 0.2])
DESIGN = np.array([[1.0, 0.5, 0.0], [0.2, -1.0, 0.3], [0.0, 1.0, 1.0], [1.0, 1.0, -0.4], [0.3, 0.0, 2.0]])
PRECISION = np.array([[2.0, 0.4, 0.0], [0.4, 1.0, -0.3], [0.0, -0.3, 1.5]])
FACTOR = np.linalg.cholesky(PRECISION)
MASK = np.array([True, False, True])
INIT = {"m": 0.0, "s": 0.0, "x": jnp.zeros(3)}


def normal(x, m, log_s):
    return -0.5 * ((x - m) / jnp.exp(log_s)) ** 2 - log_s


def centred(p):
    return (p["x"] - p["m"]) * jnp.exp(-p["s"])


def schools_model():
    mu = numpyro.sample("m", dist.Normal(0, 5))
    tau = numpyro.sample("s", dist.HalfCauchy(5))
    with numpyro.plate("school", 3):
        theta = numpyro.sample("x", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, ERRORS), obs=Y)


def schools(p):
    tau = jnp.exp(p["s"])
    prior = norm.logpdf(p["m"], 0, 5) + p["s"] - jnp.log1p((tau / 5) ** 2)
    return prior + norm.logpdf(p["x"], p["m"], tau).sum() + norm.logpdf(Y, p["x"], ERRORS).sum()


def of_schools(p):
    return [p["m"] / 5, centred(p), (Y - p["x"]) / ERRORS, 0.5**0.5 * (p["s"] - np.log(5))]


def by_scan(p):
    def turn(carry, x):
        before, total = carry
        return (x, total - 0.5 * ((x - 0.9 * before) * jnp.exp(-p["s"])) ** 2 - p["s"]), None

    return jax.lax.scan(turn, (0.0, 0.0), p["x"])[0][1]


def by_outputs(p):
    def turn(before, x):
        return x, -0.5 * ((x - 0.9 * before) * jnp.exp(-p["s"])) ** 2 - p["s"]

    return jax.lax.scan(turn, 0.0, p["x"])[1].sum()


def by_weighted_outputs(p):
    return (jnp.array([1.0, 2.0, 3.0]) * jax.lax.scan(lambda c, x: (x, -0.5 * (x - c) ** 2), 0.0, p["x"])[1]).sum()


def autoregression(p):
    x = p["x"]
    return (x - 0.9 * jnp.concatenate([jnp.zeros(1), x[:-1]])) * jnp.exp(-p["s"])


@jax.custom_jvp
def custom(x):
    return -0.5 * (x**2).sum()


custom.defjvp(lambda primals, tangents: (custom(*primals), -(primals[0] * tangents[0]).sum()))


class Model:
    """A density that is an object, as of a library."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, p):
        return self.log_prob(p["x"], p["m"], self.scale)

    @staticmethod
    def log_prob(x, m, scale):
        return -(((x - m) / scale) ** 2).sum() / 2


FOUND = {
    "the README's": (
        lambda p: -0.5 * ((0.3 - p["m"]) ** 2 + p["m"] ** 2 / jnp.exp(p["s"]) + p["s"] + p["s"] ** 2 / 9),
        lambda p: [0.3 - p["m"], p["m"] / jnp.exp(p["s"] / 2), p["s"] / 3],
    ),
    "sum of squares": (lambda p: -0.5 * (p["x"] ** 2).sum(), lambda p: [p["x"]]),
    "minus in front": (lambda p: -((p["x"] - p["m"]) ** 2).sum() / 2, lambda p: [p["x"] - p["m"]]),
    "no half": (lambda p: -(p["x"] ** 2).sum(), lambda p: [2**0.5 * p["x"]]),
    "dot": (lambda p: -0.5 * p["x"] @ p["x"], lambda p: [p["x"]]),
    "dot of a quotient": (lambda p: -0.5 * jnp.dot(centred(p), centred(p)), lambda p: [centred(p)]),
    "vdot": (lambda p: -0.5 * jnp.vdot(p["x"], p["x"]), lambda p: [p["x"]]),
    "inner": (lambda p: -0.5 * jnp.inner(p["x"], p["x"]), lambda p: [p["x"]]),
    "einsum": (lambda p: -0.5 * jnp.einsum("i,i->", p["x"], p["x"]), lambda p: [p["x"]]),
    "einsum with a matrix": (
        lambda p: -0.5 * jnp.einsum("i,ij,j->", p["x"], PRECISION, p["x"]),
        lambda p: [FACTOR.T @ p["x"]],
    ),
    "product with itself": (lambda p: -0.5 * (p["x"] * p["x"]).sum(), lambda p: [p["x"]]),
    "product written twice": (
        lambda p: (-0.5 * (p["x"] - p["m"]) * (p["x"] - p["m"])).sum(),
        lambda p: [p["x"] - p["m"]],
    ),
    "jnp.square": (lambda p: -0.5 * jnp.sum(jnp.square(p["x"])), lambda p: [p["x"]]),
    "jnp.power": (lambda p: -0.5 * jnp.sum(jnp.power(p["x"], 2)), lambda p: [p["x"]]),
    "power 2.0": (lambda p: -0.5 * (p["x"] ** 2.0).sum(), lambda p: [p["x"]]),
    "norm": (lambda p: -0.5 * jnp.linalg.norm(p["x"] - p["m"]) ** 2, lambda p: [p["x"] - p["m"]]),
    "abs": (lambda p: -0.5 * (jnp.abs(p["x"]) ** 2).sum(), lambda p: [p["x"]]),
    "mean": (lambda p: -jnp.mean((p["x"] - p["m"]) ** 2), lambda p: [(2 / 3) ** 0.5 * (p["x"] - p["m"])]),
    "norm.logpdf": (
        lambda p: norm.logpdf(p["s"], 0, 3) + norm.logpdf(p["x"], p["m"], jnp.exp(p["s"])).sum(),
        lambda p: [p["s"] / 3, centred(p)],
    ),
    "norm.logpdf, variance": (
        lambda p: norm.logpdf(p["x"], p["m"], jnp.sqrt(jnp.exp(2 * p["s"]))).sum(),
        lambda p: [centred(p)],
    ),
    "norm.logpdf, softplus": (
        lambda p: norm.logpdf(p["x"], 0.0, jax.nn.softplus(p["s"])).sum(),
        lambda p: [p["x"] / jax.nn.softplus(p["s"])],
    ),
    "Stan's normal": (lambda p: normal(p["x"], p["m"], p["s"]).sum(), lambda p: [centred(p)]),
    "PyMC's normal": (
        lambda p: (-0.5 * jnp.exp(p["s"]) * (p["x"] - p["m"]) ** 2 + 0.5 * p["s"]).sum(),
        lambda p: [jnp.exp(p["s"] / 2) * (p["x"] - p["m"])],
    ),
    "PyMC's normal, log of 2π": (
        lambda p: (0.5 * (-jnp.exp(p["s"]) * (p["x"] - p["m"]) ** 2 + jnp.log(jnp.exp(p["s"]) / 2 / jnp.pi))).sum(),
        lambda p: [jnp.exp(p["s"] / 2) * (p["x"] - p["m"])],
    ),
    "divided by a variance": (
        lambda p: (-((p["x"] - p["m"]) ** 2) / (2 * jnp.exp(p["s"]) ** 2)).sum(),
        lambda p: [centred(p)],
    ),
    "inverse square": (
        lambda p: -0.5 * (p["x"] ** 2).sum() * jnp.exp(p["s"]) ** -2,
        lambda p: [p["x"] * jnp.exp(-p["s"])],
    ),
    "weights": (lambda p: -0.5 * (ERRORS**-2 * (Y - p["x"]) ** 2).sum(), lambda p: [(Y - p["x"]) / ERRORS]),
    "weights by dot": (lambda p: -0.5 * ERRORS**-2 @ (Y - p["x"]) ** 2, lambda p: [(Y - p["x"]) / ERRORS]),
    "weights by matrix": (
        lambda p: -0.5 * (jnp.abs(DESIGN) @ p["x"] ** 2).sum(),
        lambda p: [jnp.sqrt(np.abs(DESIGN).sum(0)) * p["x"]],
    ),
    "a mask": (
        lambda p: jnp.where(MASK, -0.5 * jnp.exp(p["s"]) * p["x"] ** 2, 0.0).sum(),
        lambda p: [MASK * jnp.exp(p["s"] / 2) * p["x"]],
    ),
    "bounds": (
        lambda p: jnp.where(p["m"] > -100, -0.5 * p["m"] ** 2, -jnp.inf),
        lambda p: [p["m"]],
    ),
    "groups": (
        lambda p: -0.5 * ((DATA - p["x"][GROUP]) ** 2).sum() * jnp.exp(-2 * p["s"]) - 5 * p["s"],
        lambda p: [(DATA - p["x"][GROUP]) * jnp.exp(-p["s"])],
    ),
    "regression": (
        lambda p: norm.logpdf(DATA, DESIGN @ p["x"], jnp.exp(p["s"])).sum(),
        lambda p: [(DATA - DESIGN @ p["x"]) * jnp.exp(-p["s"])],
    ),
    "horseshoe": (
        lambda p: norm.logpdf(p["x"], 0, jnp.exp(p["m"]) * jnp.exp(p["s"] * ERRORS)).sum(),
        lambda p: [p["x"] * jnp.exp(-p["m"] - p["s"] * ERRORS)],
    ),
    "slices of squares": (lambda p: -0.5 * ((p["x"] - p["m"]) ** 2)[1:].sum(), lambda p: [(p["x"] - p["m"])[1:]]),
    "chosen squares": (
        lambda p: -0.5 * ((p["x"] - p["m"]) ** 2)[GROUP].sum(),
        lambda p: [(p["x"] - p["m"])[GROUP]],
    ),
    "stack": (
        lambda p: jnp.stack([-0.5 * p["m"] ** 2, -2.0 * p["s"] ** 2]).sum(),
        lambda p: [p["m"], 2 * p["s"]],
    ),
    "concatenate": (
        lambda p: -0.5 * jnp.concatenate([p["x"] ** 2, 4 * p["m"][None] ** 2]).sum(),
        lambda p: [p["x"], 2 * p["m"]],
    ),
    "squares of a concatenation": (
        lambda p: -0.5 * (jnp.append(p["x"], p["m"]) ** 2).sum(),
        lambda p: [p["x"], p["m"]],
    ),
    "a list": (lambda p: sum(-0.5 * p["x"][i] ** 2 for i in range(3)), lambda p: [p["x"]]),
    "matrices": (
        lambda p: -0.5 * jnp.sum((p["x"][:, None] - p["x"][None, :] - p["m"]) ** 2, axis=(0, 1)),
        lambda p: [p["x"][:, None] - p["x"][None, :] - p["m"]],
    ),
    "transposed": (
        lambda p: -0.5 * jnp.sum((jnp.outer(p["x"], Y) ** 2).T),
        lambda p: [jnp.outer(p["x"], Y)],
    ),
    "broadcast squares": (
        lambda p: -0.5 * jnp.broadcast_to(p["m"] ** 2, (4, 3)).sum(),
        lambda p: [12**0.5 * p["m"]],
    ),
    "single precision inside": (
        lambda p: (-0.5 * p["m"] ** 2).astype(jnp.float32).astype(float),
        lambda p: [p["m"]],
    ),
    "jit": (lambda p: jax.jit(lambda x: -0.5 * (x**2).sum())(p["x"]), lambda p: [p["x"]]),
    "nested jit": (
        lambda p: jax.jit(lambda x, s: jax.jit(normal)(x, 0.0, s).sum())(p["x"], p["s"]),
        lambda p: [p["x"] * jnp.exp(-p["s"])],
    ),
    "checkpoint": (lambda p: jax.checkpoint(lambda x: -0.5 * (x**2).sum())(p["x"]), lambda p: [p["x"]]),
    "custom derivative": (lambda p: custom(p["x"]), lambda p: [p["x"]]),
    "partial": (
        lambda p: functools.partial(normal, m=p["m"])(p["x"], log_s=p["s"]).sum(),
        lambda p: [centred(p)],
    ),
    "an object": (Model(2.0), lambda p: [(p["x"] - p["m"]) / 2]),
    "vmap": (
        lambda p: jax.vmap(lambda x: norm.logpdf(x, p["m"], jnp.exp(p["s"])))(p["x"]).sum(),
        lambda p: [centred(p)],
    ),
    "vmap over vectors": (
        lambda p: jax.vmap(lambda y: -0.5 * (p["x"] - y) @ (p["x"] - y))(DESIGN).sum(),
        lambda p: [p["x"] - DESIGN],
    ),
    "scan, a sum": (by_scan, lambda p: [autoregression(p)]),
    "scan, outputs": (by_outputs, lambda p: [autoregression(p)]),
    "scan, weighted outputs": (
        by_weighted_outputs,
        lambda p: [jnp.sqrt(jnp.arange(1.0, 4.0)) * jnp.diff(p["x"], prepend=0.0)],
    ),
    "fori_loop": (
        lambda p: jax.lax.fori_loop(0, 3, lambda i, total: total - 0.5 * (p["x"][i] - p["m"]) ** 2, 0.0),
        lambda p: [p["x"] - p["m"]],
    ),
    "differences": (
        lambda p: norm.logpdf(jnp.diff(p["x"]), 0, jnp.exp(p["s"])).sum(),
        lambda p: [jnp.diff(p["x"]) * jnp.exp(-p["s"])],
    ),
    "precision matrix": (
        lambda p: -0.5 * (p["x"] - p["m"]) @ PRECISION @ (p["x"] - p["m"]),
        lambda p: [FACTOR.T @ (p["x"] - p["m"])],
    ),
    "scaled precision matrix": (
        lambda p: -0.5 * p["x"] @ (jnp.exp(p["s"]) * PRECISION) @ p["x"],
        lambda p: [jnp.exp(p["s"] / 2) * FACTOR.T @ p["x"]],
    ),
    "rows times a precision matrix": (
        lambda p: -0.5 * jnp.sum(((DESIGN - p["x"]) @ PRECISION) * (DESIGN - p["x"])),
        lambda p: [(DESIGN - p["x"]) @ FACTOR],
    ),
    "Gram matrix": (
        lambda p: -0.5 * p["x"] @ (DESIGN.T @ DESIGN) @ p["x"],
        lambda p: [np.linalg.cholesky(DESIGN.T @ DESIGN).T @ p["x"]],
    ),
    "solve_triangular": (
        lambda p: -0.5 * jnp.sum(solve_triangular(FACTOR, p["x"] - p["m"], lower=True) ** 2),
        lambda p: [jnp.linalg.solve(FACTOR, p["x"] - p["m"])],
    ),
    "cho_solve": (
        lambda p: -0.5 * (p["x"] - p["m"]) @ cho_solve((jnp.exp(p["s"]) * FACTOR, True), p["x"] - p["m"]),
        lambda p: [jnp.linalg.solve(FACTOR, centred(p))],
    ),
    "linalg.solve": (
        lambda p: -0.5 * p["x"] @ jnp.linalg.solve(np.linalg.inv(PRECISION), p["x"]),
        lambda p: [FACTOR.T @ p["x"]],
    ),
    "multivariate_normal.logpdf": (
        lambda p: multivariate_normal.logpdf(p["x"], jnp.full(3, p["m"]), PRECISION),
        lambda p: [jnp.linalg.solve(FACTOR, p["x"] - p["m"])],
    ),
    "a Gaussian process": (
        lambda p: multivariate_normal.logpdf(p["x"], jnp.zeros(3), jnp.exp(2 * p["s"]) * PRECISION),
        lambda p: [jnp.linalg.solve(FACTOR, p["x"]) * jnp.exp(-p["s"])],
    ),
    "log-normal": (
        lambda p: -0.5 * ((jnp.log(jnp.exp(p["m"])) - 0.4) / 0.3) ** 2,
        lambda p: [(p["m"] - 0.4) / 0.3],
    ),
    "Cauchy": (lambda p: cauchy.logpdf(p["x"], p["m"], 2.0).sum(), lambda p: [jnp.arcsinh((p["x"] - p["m"]) / 2)]),
    "Student's t": (
        lambda p: t.logpdf(p["x"], 5.0, p["m"], jnp.exp(p["s"])).sum(),
        lambda p: [6 / 8**0.5 * jnp.arcsinh(centred(p) / 5**0.5)],
    ),
    "log of 1 + square": (
        lambda p: -3 * jnp.log(1 + p["x"] ** 2 / 5).sum(),
        lambda p: [6 / 8**0.5 * jnp.arcsinh(p["x"] / 5**0.5)],
    ),
    "multivariate t": (
        lambda p: -4 * jnp.log1p((p["x"] ** 2).sum() / 5),
        lambda p: [p["x"] / (1 + (p["x"] ** 2).sum() / 5) ** 0.25],
    ),
    "eight schools": (schools, of_schools),
    "eight schools, NumPyro's potential": (
        lambda p: -potential_energy(schools_model, (), {}, p),
        of_schools,
    ),
    "NumPyro's log_prob": (
        lambda p: dist.Normal(p["m"], jnp.exp(p["s"])).log_prob(p["x"]).sum(),
        lambda p: [centred(p)],
    ),
    "NumPyro's multivariate normal": (
        lambda p: dist.MultivariateNormal(p["m"], scale_tril=FACTOR).log_prob(p["x"]),
        lambda p: [jnp.linalg.solve(FACTOR, p["x"] - p["m"])],
    ),
    "beside a likelihood": (
        lambda p: -0.5 * (p["x"] ** 2).sum() - jnp.logaddexp(0.0, -DESIGN @ p["x"]).sum(),
        lambda p: [p["x"]],
    ),
}
"""By style: the density, and its residuals."""

NOT_FOUND = {
    "positive squares": lambda p: (p["x"] ** 2).sum(),
    "a sign that is not known": lambda p: p["m"] * (p["x"] ** 2).sum(),
    "a scale that may be negative": lambda p: -0.5 * (p["x"] ** 2).sum() / p["m"],
    "a mixture": lambda p: jnp.logaddexp(-0.5 * (p["m"] - 1) ** 2, -0.5 * (p["m"] + 1) ** 2),
    "fourth powers": lambda p: -(p["x"] ** 4).sum() - jnp.exp(p["m"] ** 2),
    "absolute values": lambda p: -jnp.abs(p["x"]).sum(),
    "logistic regression": lambda p: -jnp.logaddexp(0.0, -DESIGN @ p["x"]).sum(),
    "Poisson": lambda p: (DATA * (DESIGN @ p["x"]) - jnp.exp(DESIGN @ p["x"])).sum(),
    "an indefinite form": lambda p: -0.5 * p["x"] @ (PRECISION - 2 * np.eye(3)) @ p["x"],
    "a product of two": lambda p: -p["m"] * p["s"] - p["x"] @ (p["x"] + p["m"]),
    "Huber's loss": lambda p: jnp.where(jnp.abs(p["m"]) < 1, -0.5 * p["m"] ** 2, 0.5 - jnp.abs(p["m"])),
    "a jump": lambda p: -jnp.max(p["x"]) - jnp.exp(-p["s"]),
}
"""Densities off which nothing must be read."""
