"""Work of the paper's items: done once for its settings, in other processes, and whatever goes wrong with one."""

import numpy as np
import pytest
from typer.testing import CliRunner

from mongepatch.cli import app
from mongepatch.errors import DataError, SettingError
from mongepatch.paper import ITEMS, store, work
from mongepatch.paper.item import Item, Section, Task
from mongepatch.paper.reproduce import item_named, wanted


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def squared(number, log):
    with open(log, "a") as file:
        file.write(f"{number}\n")
    if number == 13:
        raise ValueError("unlucky")
    if number == 7:
        raise DataError("there is no seven")
    return {"number": number, "square": np.asarray([number**2.0]), "nothing": None}


def item(numbers, log):
    tasks = [Task(f"n = {n}", squared, {"number": n, "log": str(log)}) for n in numbers]
    return Item("squares", "Squares", lambda size: tasks, lambda results: Section())


def test_tasks_are_done_in_their_order_and_what_fails_does_not_stop_the_others(tmp_path):
    done = work.do([item((3, 13, 2, 7, 1), tmp_path / "log")], "quick", jobs=2)["squares"]
    assert list(done.results) == ["n = 3", "n = 2", "n = 1"]
    assert done.results["n = 3"]["square"] == 9.0
    assert done.results["n = 3"]["nothing"] is None
    assert done.results["n = 3"]["task_seconds"] >= 0
    assert done.left_out == {"n = 7": "there is no seven"}
    assert done.failed == {"n = 13": "ValueError: unlucky"}


def test_what_was_done_is_not_done_again_unless_it_failed_or_is_wanted_fresh(tmp_path):
    log = tmp_path / "log"
    some = item((3, 13), log)
    work.do([some], "quick", jobs=1)
    again = work.do([some], "quick", jobs=1)["squares"]
    assert log.read_text().split() == ["3", "13", "13"]
    assert again.results["n = 3"]["square"] == 9.0
    work.do([some], "quick", jobs=1, fresh=True)
    assert sorted(log.read_text().split()) == ["13", "13", "13", "3", "3"]


def test_results_are_kept_by_their_settings():
    task = Task("a", squared, {"number": 1, "log": ""})
    assert store.load(task) is None
    store.save(task, {"array": np.arange(3), "text": "α", "number": 0.1, "none": None})
    found = store.load(task)
    assert (found["array"] == np.arange(3)).all()
    assert (found["text"], found["number"], found["none"]) == ("α", 0.1, None)
    assert store.load(task._replace(label="b")) is not None  # a label is no setting
    assert store.load(task._replace(settings={"number": 2, "log": ""})) is None
    assert store.load(task._replace(compute=item)) is None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half of a file"])
def test_a_broken_file_is_no_result(content):
    task = Task("a", squared, {"number": 1, "log": ""})
    store.save(task, {"number": 1})
    store.path_of(task).write_bytes(content)
    assert store.load(task) is None


def test_items_are_named_as_in_the_paper():
    assert wanted(["table-2", "figure-2", "table-2"]) == ["figure-2", "table-2"]
    assert wanted(["all"]) == wanted([]) == list(ITEMS)
    with pytest.raises(SettingError, match="no item figure-9: there are figure-2"):
        wanted(["figure-9"])


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("size", ["quick", "full"])
def test_every_item_has_tasks_that_can_be_kept(name, size):
    found = item_named(name)
    tasks = found.tasks(size)
    assert found.name == name
    assert len({task.label for task in tasks}) == len(tasks)
    assert len({store.path_of(task) for task in tasks}) == len(tasks)


@pytest.mark.slow
def test_reproduce_writes_a_report_and_the_second_time_only_draws(tmp_path, monkeypatch):
    arguments = ["reproduce", "figure-3", "--out", str(tmp_path / "out"), "--jobs", "1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Figure 3" in page
    assert {"figure-3.svg", "figure-3.png", "results.json"} <= {file.name for file in (tmp_path / "out").iterdir()}

    def unwanted(*arguments):
        raise AssertionError("there is nothing left to do")

    monkeypatch.setattr(work, "ProcessPoolExecutor", unwanted)
    assert CliRunner().invoke(app, arguments).exit_code == 0


def test_reproduce_says_at_once_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["reproduce", "figure-3", "--out", str(tmp_path / "file")])
    assert isinstance(result.exception, SettingError)
    assert "cannot be written" in str(result.exception)
