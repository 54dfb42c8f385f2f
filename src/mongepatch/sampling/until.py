"""When to stop: once there are enough effective draws and the chains agree, or the time is over."""

from dataclasses import dataclass

from mongepatch._keywords import checked_keywords
from mongepatch.errors import SettingError
from mongepatch.sampling.live import MIN_DRAWS, Estimates
from mongepatch.validation import positive_number, whole_number

_GROWTH = 1.1
"""Ratio of the numbers of draws at which a run is looked at. Fewer looks at noisy figures stop fewer runs by chance."""


@checked_keywords
@dataclass(frozen=True)
class Until:
    """Ends a run once its diagnostics are good enough.

    They are looked at after 100 draws of each chain and then whenever a tenth more have been made, whatever the
    chunks, so that the seed decides where a run stops; `max_time` alone depends on the machine. Figures are estimates:
    a run that stops at the first good one has, on average, somewhat fewer effective draws than it says
    (`python -m benchmarks until` measures how many).

    Args:
        ess: effective sample size, of all chains together, that every parameter's mean and squares must reach.
        rhat: the largest split R̂ of these that is good enough.
        max_draws: draws of each chain at which to stop in any case; by default `draws` of `sample`.
        max_time: seconds of sampling after which to stop in any case, warm-up and compilation excluded.

    Example:
        >>> tree = mp.sample(mp.targets.banana(), warmup=100, until=mp.Until(ess=400, max_draws=9000), progress=False)
    """

    ess: float = 400.0
    rhat: float = 1.01
    max_draws: int | None = None
    max_time: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ess", float(positive_number("ess", self.ess)))
        object.__setattr__(self, "rhat", float(positive_number("rhat", self.rhat)))
        if self.rhat <= 1.0:
            raise SettingError(f"rhat must be above 1, such as 1.01: no estimate stays below; it is {self.rhat}.")
        if self.max_draws is not None:
            object.__setattr__(self, "max_draws", whole_number("max_draws", self.max_draws))
        if self.max_time is not None:
            object.__setattr__(self, "max_time", float(positive_number("max_time", self.max_time)))

    def is_reached(self, found: Estimates) -> bool:
        """Whether both figures are good enough."""
        return found.ess >= self.ess and found.r_hat <= self.rhat

    def words(self, found: Estimates, seconds_per_draw: float, draws: int) -> str:
        """How far the target is, and how long it may take."""
        if not found.ess > 0:
            return f"ESS … of {self.ess:,.0f}"
        missing = max(0.0, self.ess / found.ess - 1.0) * draws * seconds_per_draw
        left = f" · about {missing:,.0f} s left" if missing else ""
        return f"ESS {found.ess:,.0f} of {self.ess:,.0f} · R̂ {found.r_hat:.3f} of {self.rhat:g}{left}"


def next_look(draws: int) -> int:
    """The number of draws at which a run is looked at next."""
    look = MIN_DRAWS
    while look <= draws:
        look = int(look * _GROWTH) + 1
    return look
