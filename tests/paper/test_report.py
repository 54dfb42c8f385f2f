"""The report of made-up results: its files, and its page in a browser."""

import csv
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import SCREENS, a_browser, assert_fits, assert_is_drawn, shoot

import mongepatch as mp
from mongepatch.paper import reproduce, style
from mongepatch.paper.item import Claim, Column, Figure, Item, Section, Table, Task
from mongepatch.paper.report import Part, facts, pictures, write
from mongepatch.paper.work import Done

NASTY = """<script>alert("1")</script> & 'α² ≥ ½' </style> $style"""
COLUMNS = [
    Column("method", meaning=NASTY),
    Column("mean", ".2f", "Of all draws."),
    Column("draws", ",d"),
    Column("note"),
]
ROWS = [
    ["HMC", -1.2345678901234567, 2000, NASTY],
    ["LMC-Monge", np.float64(10.5), np.int64(900), None],
    ["method 10", None, None, "naïve"],
    ["method 9", float("nan"), 12345, "a, b\nc"],
    ["NUTS", float("-inf"), 3, ""],
    ["WALNUTS", 9.0, 100_000, "<b>"],
]
VOID = {"meta", "link", "img", "br", "circle", "path", "rect"}


def never(**settings):
    raise AssertionError("a report does no work")


def a_figure(name, heavy=False):
    with style.styled():
        drawing, axes = style.canvas(1, 2)
        axes[0, 0].plot([0.0, 1.0, 3.0], [2.0, 1.0, 4.0], marker="o", label="LMC-Monge")
        axes[0, 0].set(xlabel="v", ylabel="density", title="A title")
        axes[0, 0].legend()
        count = 40_000 if heavy else 200
        x, y = np.random.default_rng(1).normal(size=(2, count))
        axes[0, 1].plot(x, y, ".", markersize=2)
    return Figure(name, drawing, f"What to see: {NASTY}", f"Two panels: {NASTY}")


def an_item(name, title, about=""):
    return Item(name, title, lambda size: [], lambda results: Section(), about)


def made_up_parts():
    tasks = [
        Task("HMC", never, {"draws": 1000, "step_size": 0.1, "sizes": [1, 2, 3]}),
        Task("LMC, α = 1", never, {"draws": 1000, "step_size": 0.02, "sizes": [1, 2, 3], "alpha": 1.0}),
        Task("<WALNUTS>", never, {"draws": 1000, "step_size": 10.0, "sizes": [1, 2, 3]}),
        Task("NUTS", never, {"draws": 1000, "step_size": 0.5, "sizes": [1, 2, 3]}),
    ]
    section = Section(
        [a_figure("figure-2-draws"), a_figure("figure-2-more")],
        [
            Table("figure-2-means", "Means <of> draws", COLUMNS, ROWS, note=f"A note: {NASTY}"),
            Table("figure-2-wide", "Many columns", [Column(f"column {i}", ".3f") for i in range(30)], [range(30)] * 3),
            Table("figure-2-all", "All numbers", [Column("x")], [[i] for i in range(5)], shown=False),
        ],
        [
            Claim("LMC reaches the neck of the funnel, which HMC does not.", "holds", "Smallest v: −8.9 against −6.4."),
            Claim("Half of it.", "holds in part", NASTY),
            Claim("LMC is faster than all others in every dimension.", "does not hold", "It is slower in 3 of 5."),
            Claim("Something about a machine that we do not have.", "not checked", "Not looked at."),
        ],
    )
    done = Done(
        {"HMC": {"task_seconds": 12.25, "draws": np.zeros(3)}, "LMC, α = 1": {"task_seconds": np.float64(3.5)}},
        {"<WALNUTS>": "WALNUTS needs walnutpie, which is not installed."},
        {"NUTS": f"ValueError: {NASTY}\nsecond line " + "x" * 200},
    )
    failed = Done({}, {"one": "No data.", "two": "No data."}, {"three": "OSError: gone"})
    lone = [Task(label, never, {}) for label in ("one", "two", "three")]
    heavy = Section([a_figure("squiggle-cloud", heavy=True)])
    return [
        Part(an_item("figure-2", "Figure 2: the funnel", "What the experiment <is> & why."), section, done, tasks),
        Part(an_item("table-2", "Table 2: regressions"), None, failed, lone),
        Part(an_item("squiggle", "The squiggle"), heavy, Done({"a": {"task_seconds": 1}}, {}, {}), []),
    ]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new"
    write(folder, made_up_parts(), "quick", 2)
    return folder


class Page(HTMLParser):
    """Elements of a page; it fails where they are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} is closed, but is not the innermost"

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(out):
    return Page((out / "report.html").read_text(encoding="utf-8"))


def test_every_figure_and_table_is_a_file(out):
    names = {path.name for path in out.iterdir()}
    figures = {
        f"{name}.{kind}" for name in ("figure-2-draws", "figure-2-more", "squiggle-cloud") for kind in ("svg", "png")
    }
    tables = {f"figure-2-{name}.csv" for name in ("means", "wide", "all")}
    assert names == figures | tables | {"results.json", "report.html"}
    assert (out / "figure-2-draws.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (out / "figure-2-draws.svg").read_bytes()


def test_a_csv_holds_the_values_as_they_are(out):
    with open(out / "figure-2-means.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [column.name for column in COLUMNS]
    assert len(rows) == len(ROWS)
    for row, (method, mean, draws, note) in zip(rows, ROWS, strict=True):
        assert row[0] == method
        assert row[1] == "" if mean is None else np.array_equal(float(row[1]), mean, equal_nan=True)
        assert row[2] == ("" if draws is None else str(draws))
        assert row[3] == (note or "")


def test_the_json_holds_everything(out):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    content = json.loads((out / "results.json").read_text(encoding="utf-8"), parse_constant=refuse)
    run = content["run"]
    assert (run["size"], run["jobs"]) == ("quick", 2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run["when"])
    assert run["versions"]["mongepatch"] == mp.__version__
    assert {"python", "jax", "numpy", "blackjax", "matplotlib"} <= set(run["versions"])
    assert run["processors"] >= 1
    assert run["command"] == "mongepatch reproduce figure-2 table-2 squiggle --quick --jobs 2"
    first, second, _ = content["items"]
    assert [claim["verdict"] for claim in first["claims"]][:2] == ["holds", "holds in part"]
    assert first["claims"][1]["measured"] == NASTY
    assert [task["seconds"] for task in first["tasks"]] == [12.25, 3.5, None, None]
    assert first["tasks"][0]["settings"] == {"draws": 1000, "step_size": 0.1, "sizes": [1, 2, 3]}
    assert [len(table["rows"]) for table in first["tables"]] == [6, 3, 5]
    assert first["tables"][0]["rows"][1] == ["LMC-Monge", 10.5, 900, None]
    assert first["tables"][0]["rows"][3][1] == "nan"
    assert first["failed"]["NUTS"].startswith("ValueError")
    assert second["left_out"] == {"one": "No data.", "two": "No data."}


def test_the_page_loads_nothing(page):
    for _, attributes in page.elements:
        for name in ("src", "srcset", "poster", "data", "action"):
            assert attributes.get(name, "data:").startswith("data:")
        if "href" in attributes:
            assert not re.match(r"(https?:)?//", attributes["href"])
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    assert not any("src" in script for script in page.all("script"))


def test_links_lead_somewhere(page, out):
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for link in page.all("a"):
        target = link["href"]
        assert target[1:] in identifiers if target.startswith("#") else (out / target).is_file()
    for _, attributes in page.elements:
        assert attributes.get("aria-labelledby", identifiers[0]) in identifiers


def test_the_page_is_made_of_meaningful_elements(page):
    assert len(page.all("h1")) == 1
    assert page.all("html") == [{"lang": "en"}]
    images = page.all("img")
    assert len(images) == len(page.all("figure")) == len(page.all("figcaption")) == 3
    for image in images:
        assert image["alt"] == f"Two panels: {NASTY}"
    for head in page.all("th"):
        assert head["scope"] in ("col", "row")


def test_a_heavy_figure_is_embedded_as_pixels(page, out):
    assert (out / "squiggle-cloud.svg").stat().st_size > pictures.HEAVY
    kinds = [image["src"].partition(";")[0] for image in page.all("img")]
    assert kinds == ["data:image/svg+xml", "data:image/svg+xml", "data:image/png"]


def test_rows_are_as_wide_as_their_tables(out):
    for table in re.findall(r"<table.*?</table>", (out / "report.html").read_text(encoding="utf-8"), re.DOTALL):
        assert len({len(re.findall(r"<t[hd]\b", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)}) == 1


def test_text_is_text(page, out):
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert page.text.count(NASTY) >= 7  # a cell, a note, a meaning, captions, a failure, what was found
    assert "<b>" in page.text
    assert "<WALNUTS>" in page.text
    assert not page.all("b")


def test_the_page_tells_what_was_not_done(page):
    assert "Not all was done: 2 tasks failed, 3 tasks left out." in page.text
    assert "Nothing of this item could be done" in page.text
    assert "one, two" in page.text
    assert "WALNUTS needs walnutpie" in page.text
    assert "quick run" in page.text


def test_the_page_tells_what_was_done(page):
    for text in ("All of them with draws = 1000, sizes = [1, 2, 3].", "0.02", "12.2", "All numbers", "-1.23", "12,345"):
        assert text in page.text
    for verdict in ("holds", "holds in part", "does not hold", "not checked"):
        assert f"{verdict}: 1" in page.text


def test_a_full_run_says_so(tmp_path):
    write(tmp_path, made_up_parts()[1:2], "full", 1)
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "full run" in text
    assert "quick run" not in text
    assert "No claim could be looked at." in text
    assert "mongepatch reproduce table-2 --full --jobs 1" in text


def test_the_same_numbers_give_the_same_files(out, tmp_path, monkeypatch):
    when = json.loads((out / "results.json").read_text(encoding="utf-8"))["run"]["when"]
    monkeypatch.setattr(facts, "now", lambda: when)
    write(tmp_path, made_up_parts(), "quick", 2)
    assert sorted(os.listdir(tmp_path)) == sorted(os.listdir(out))
    for path in out.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_an_earlier_report_is_written_over_and_other_files_stay(tmp_path):
    (tmp_path / "figure-6-ess.csv").write_text("kept")
    (tmp_path / "report.html").write_text("old")
    write(tmp_path, made_up_parts()[1:2], "quick", 1)
    assert (tmp_path / "figure-6-ess.csv").read_text() == "kept"
    assert "Table 2" in (tmp_path / "report.html").read_text(encoding="utf-8")


def columns_of(session, table):
    """Texts of a table in a browser, by column."""
    rows = session.execute_script(
        "return Array.from(arguments[0].tBodies[0].rows, row => Array.from(row.cells, cell => cell.textContent))", table
    )
    return list(zip(*rows, strict=True))


@SCREENS
def test_the_page_in_a_browser(out, tmp_path, name, width, height):
    look_at(out, 3, tmp_path / f"{name}.png", width, height)


@pytest.mark.slow
@SCREENS
def test_a_real_report_in_a_browser(tmp_path, monkeypatch, name, width, height):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reproduce(["figure-2", "figure-3", "figure-4"], tmp_path / "out", jobs=2)
    look_at(tmp_path / "out", 3, tmp_path / f"{name}.png", width, height)


def look_at(folder, figures, picture, width, height):
    """A report in a browser: all is drawn, nothing is loaded or complained of, nothing sticks out."""
    with a_browser(width, height) as session:
        session.get((folder / "report.html").as_uri())
        find = session.find_elements
        images = find("css selector", "img")
        assert len(images) == figures
        for image in images:
            assert_is_drawn(session, image)
            assert 0.8 * min(width, 1000) < image.size["width"] <= 1000
        for details in find("css selector", "details"):
            session.execute_script("arguments[0].open = true", details)
        shoot(session, picture)
        assert picture.stat().st_size > 10_000
        assert_fits(session, width)


def test_tables_sort_in_a_browser(out):
    with a_browser(1280, 900) as session:
        session.get((out / "report.html").as_uri())
        table = session.find_element("css selector", "[aria-labelledby='figure-2--table-0'] table")
        buttons = table.find_elements("css selector", "thead button")
        heads = table.find_elements("css selector", "thead th")

        def press(number, how="click"):
            buttons[number].click() if how == "click" else buttons[number].send_keys(how)
            return columns_of(session, table)[number]

        written = columns_of(session, table)
        assert press(1) == ("-inf", "-1.23", "9.00", "10.50", "–", "nan")
        assert heads[1].get_attribute("aria-sort") == "ascending"
        assert press(1) == ("10.50", "9.00", "-1.23", "-inf", "–", "nan")
        assert heads[1].get_attribute("aria-sort") == "descending"
        assert press(2, "\ue007") == ("3", "900", "2,000", "12,345", "100,000", "–")  # Enter
        assert heads[1].get_attribute("aria-sort") is None
        assert heads[2].get_attribute("aria-sort") == "ascending"
        assert press(2, " ")[-1] == "–"
        assert press(0) == ("HMC", "LMC-Monge", "method 9", "method 10", "NUTS", "WALNUTS")
        assert press(3)[-1] == "–"
        assert sorted(zip(*columns_of(session, table), strict=True)) == sorted(
            zip(*written, strict=True)
        )  # rows stay whole
        summary = session.find_element("css selector", ".summary table")
        summary.find_elements("css selector", "thead button")[2].click()
        assert columns_of(session, summary)[2] == ("holds", "holds in part", "does not hold", "not checked")
        assert [entry for entry in session.get_log("browser") if entry["level"] == "SEVERE"] == []
