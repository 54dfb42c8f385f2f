"""What the paper prints, to stand beside ours."""

from typing import NamedTuple


class Printed(NamedTuple):
    """A row of the paper's table."""

    accepted: float
    ess: tuple[int, int, int]
    """Said to be least, mean, median, and capped at 15,000."""
    seconds: int


TABLE_2 = {
    "heart": {
        "LMC-Monge": Printed(0.79, (15000, 15000, 15000), 34),
        "LMC-Fisher": Printed(0.76, (10347, 10848, 10724), 63),
        "RMHMC-Fisher": Printed(0.72, (6263, 7391, 7430), 90),
        "HMC-Euclidean": Printed(0.71, (378, 1164, 2624), 7),
        "NUTS": Printed(0.94, (13804, 14777, 15000), 15),
    },
    "south-german": {
        "LMC-Monge": Printed(0.81, (13390, 14949, 15000), 71),
        "LMC-Fisher": Printed(0.70, (13762, 14932, 15000), 202),
        "RMHMC-Fisher": Printed(0.75, (14885, 14995, 15000), 252),
        "HMC-Euclidean": Printed(0.73, (766, 4803, 15000), 69),
        "NUTS": Printed(0.70, (14168, 14960, 15000), 40),
    },
    "australian": {
        "LMC-Monge": Printed(0.82, (1259, 12932, 15000), 52),
        "LMC-Fisher": Printed(0.75, (9636, 10464, 10443), 100),
        "RMHMC-Fisher": Printed(0.72, (7824, 9237, 9055), 134),
        "HMC-Euclidean": Printed(0.74, (1225, 4440, 10691), 18),
        "NUTS": Printed(0.99, (1227, 11715, 15000), 54),
    },
}
"""By dataset and sampler."""
