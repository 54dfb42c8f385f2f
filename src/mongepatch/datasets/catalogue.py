"""The catalogue of datasets: source, size and checksum of each."""

from dataclasses import dataclass

LICENCE = "CC BY 4.0"


@dataclass(frozen=True)
class Download:
    """A zip file at the UCI repository, and the file in it: a table of numbers between spaces, with the class last."""

    url: str
    member: str


@dataclass(frozen=True)
class Entry:
    """One dataset. The loaded table must agree with every field."""

    name: str
    """The argument of `load`."""
    columns: tuple[str, ...]
    """Names of the features, in order."""
    rows: int
    """Number of observations."""
    ones: int
    """Number of outcomes that are 1."""
    sha256: str
    """Checksum of the table; see `table.checksum`."""
    source: str
    """The reference to cite."""
    download: Download | None = None
    """Where to download the dataset; None if it is part of the package."""
    licence: str = LICENCE
    """Licence of the data."""

    @property
    def csv(self) -> str:
        """Name of its CSV file: a header, numbers between commas, and the outcome `y` last."""
        return self.name.replace("-", "_") + ".csv"


HEART = Entry(
    name="heart",
    columns=(
        "age",
        "sex",
        "chest_pain",
        "rest_bp",
        "chol",
        "fbs",
        "rest_ecg",
        "max_hr",
        "ex_angina",
        "oldpeak",
        "slope",
        "vessels",
        "thal",
    ),
    rows=270,
    ones=120,
    sha256="40a946e3ae274df5f651edc1516022030fa796ae3750da3f176a77f43607132e",
    source="Statlog (Heart). UCI Machine Learning Repository. https://doi.org/10.24432/C57303",
)
"""Heart disease; y = 1 is its presence. Every feature is scaled linearly to the range −1 to 1."""

GERMAN = Entry(
    name="german",
    columns=(
        "status",
        "duration",
        "credit_history",
        "amount",
        "savings",
        "employment",
        "personal_status",
        "residence",
        "property",
        "age",
        "other_plans",
        "credits",
        "liable",
        "telephone",
        "foreign_worker",
        "purpose_new_car",
        "purpose_used_car",
        "debtors_none",
        "debtors_co_applicant",
        "housing_rent",
        "housing_own",
        "job_unskilled_non_resident",
        "job_unskilled_resident",
        "job_skilled",
    ),
    rows=1000,
    ones=300,
    sha256="4e09960f9fb31ba12c0e048d7f8e59260de738258c554aee7039541088fa852b",
    source=(
        "Hofmann, H. (1994). Statlog (German Credit Data), numeric form. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5NC77"
    ),
)
"""German credit in the numeric form of the StatLog project; y = 1 is a bad credit."""

AUSTRALIAN = Entry(
    name="australian",
    columns=tuple(f"A{i}" for i in range(1, 15)),
    rows=690,
    ones=307,
    sha256="1d898847c069da62eafc6d3dc2ad53271b0d82c5e31b4c678efc8f0d74a34b2a",
    source=(
        "Quinlan, R. (1987). Statlog (Australian Credit Approval). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C59012"
    ),
    download=Download(
        "https://archive.ics.uci.edu/static/public/143/statlog+australian+credit+approval.zip", "australian.dat"
    ),
)
"""Australian credit approval; y = 1 is class 1 of the file. The names of its columns are confidential."""

SOUTH_GERMAN = Entry(
    name="south-german",
    columns=(
        "laufkont",
        "laufzeit",
        "moral",
        "verw",
        "hoehe",
        "sparkont",
        "beszeit",
        "rate",
        "famges",
        "buerge",
        "wohnzeit",
        "verm",
        "alter",
        "weitkred",
        "wohn",
        "bishkred",
        "beruf",
        "pers",
        "telef",
        "gastarb",
    ),
    rows=1000,
    ones=700,
    sha256="a4d744847723032359e72e80408aa2d2e3ee339c589a500463e1457767c0c5ac",
    source="South German Credit (2020). UCI Machine Learning Repository. https://doi.org/10.24432/C5QG88",
    download=Download(
        "https://archive.ics.uci.edu/static/public/573/south+german+credit+update.zip", "SouthGermanCredit.asc"
    ),
)
"""German credit with corrected codes, which the paper's authors used; y = 1 is a good credit."""

CATALOGUE = {entry.name: entry for entry in (HEART, GERMAN, AUSTRALIAN, SOUTH_GERMAN)}

NAMES = tuple(CATALOGUE)
"""The names that `load` accepts."""
