"""The page's handlers as plain functions: run, stop, look, clicks, follow-ups, errors."""

import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.engine import Engine
from app.settings import Settings
from app.wiring import Wiring
from backends.accept import accept, request_key
from launch import build
from tests.toy_methods.toy import METHOD
from tests.toy_page import Visitor, finish, toy_wiring, until

EVERY = 0.25
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def wiring(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Wiring]:
    """The toy's page, which takes a second to draw, on an engine of this module."""
    home = tmp_path_factory.mktemp("wiring")
    made = toy_wiring(build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu")))
    yield made
    made.engine.runner.close()


@pytest.fixture
def engine(wiring: Wiring) -> Iterator[Engine]:
    """The engine with an empty store; the test has to leave it without a job."""
    wiring.engine.store.clear()
    yield wiring.engine
    assert is_idle(wiring.engine)


@pytest.fixture
def visitor(wiring: Wiring, engine: Engine) -> Visitor:
    """A visitor of the toy's page."""
    return Visitor(wiring)


def drawn(visitor: Visitor, elem_id: str = "toy-squares") -> Any:
    """Return the figure that a slot shows; None for none."""
    value = visitor.place(elem_id)
    return json.loads(value) if value else None


def ring(visitor: Visitor) -> int:
    """Return the step at which the figure has its ring."""
    return int(drawn(visitor)["data"][1]["x"][0])


def foot(visitor: Visitor) -> dict[str, str]:
    """Return what stands under the figures."""
    return dict(json.loads(visitor.seen[visitor.page.foot]))


def began(visitor: Visitor, steps: Iterator[Any]) -> str:
    """Go on until the run has its id, and return the id."""
    while not visitor.running:
        next(steps)
    return visitor.running


def picture(visitor: Visitor, steps: Iterator[Any]) -> None:
    """Go on until the preliminary picture is there."""
    while drawn(visitor) is None:
        next(steps)


def key_of(engine: Engine, **fields: Any) -> str:
    """Return the fingerprint of a toy request."""
    return request_key(METHOD, accept(METHOD, fields, engine.known), engine.known)


def is_idle(engine: Engine) -> bool:
    """Say whether, soon, no job is under way."""
    return until(lambda: not engine.runner.jobs())


# Running


def test_the_run_has_its_id_before_the_work_is_done(visitor: Visitor, engine: Engine) -> None:
    steps = visitor.run(steps=20, pause=0.05)
    began(visitor, steps)
    assert engine.runner.find(key_of(engine, steps=20, pause=0.05)) is not None
    assert visitor.seen[visitor.page.stop]["visible"] is True
    assert visitor.seen[visitor.page.run]["interactive"] is False
    assert visitor.shown == {}
    steps.close()
    assert is_idle(engine)


def test_answers_come_at_least_every_quarter_of_a_second(visitor: Visitor) -> None:
    times, notes = [time.monotonic()], set()
    for _ in visitor.run(steps=2, pause=1):
        times.append(time.monotonic())
        notes.add(visitor.status)
    gaps = sorted(after - before for before, after in zip(times, times[1:], strict=False))
    assert len(gaps) >= 8
    assert gaps[len(gaps) * 3 // 4] < EVERY + 0.1  # Not the longest: the machine may be busy.
    assert {"step 0", "step 1"} == set(re.findall(r"step \d", " ".join(notes)))


def test_the_preliminary_picture_is_drawn_and_marked(visitor: Visitor) -> None:
    marks = []
    for updates in visitor.run(steps=4, pause=0.3):
        if any(component.elem_id == "toy-squares" for component in updates):
            marks.append((drawn(visitor)["preliminary"], len(drawn(visitor)["frames"])))
    assert marks == [(True, 1), (False, 4)]


def test_a_result_its_controls_and_its_foot(visitor: Visitor, engine: Engine) -> None:
    finish(visitor.run(steps=5, text="a <b>"))
    key = key_of(engine, steps=5, text="a <b>")
    assert visitor.shown["key"] == key
    assert visitor.shown["request"]["text"] == "a <b>"
    assert "5 steps made" in visitor.status
    assert drawn(visitor)["layout"]["meta"]["title"] == "Squares of a &lt;b&gt;"
    step = visitor.place("toy-step")
    assert (step["minimum"], step["maximum"], step["value"]) == (0, 4, 4)
    assert foot(visitor) == {
        "provenance": "N 5 · toy version 1",
        "link": "?method=toy&steps=5&text=a+%3Cb%3E",
        "command": "python launch.py run toy --steps 5 --text 'a <b>'",
        "export": f"workbench-results/{key}.zip?method=toy",
    }
    assert visitor.running == ""
    assert visitor.seen[visitor.page.stop]["visible"] is False
    assert visitor.seen[visitor.page.run]["interactive"] is True


def test_a_view_without_a_picture_is_hidden_and_comes_back(visitor: Visitor) -> None:
    finish(visitor.run(steps=2))
    assert visitor.place("toy-roots") == ""
    finish(visitor.run(steps=3))
    assert drawn(visitor, "toy-roots")["data"]
    card = visitor.place("toy-card")
    assert (card["visible"], "picked" in card["value"]) == (True, True)


def test_a_slider_with_one_place_stands_still(visitor: Visitor) -> None:
    finish(visitor.run(steps=1))
    step = visitor.place("toy-step")
    assert (step["minimum"], step["maximum"], step["interactive"]) == (0, 1, False)
    finish(visitor.run(steps=2))
    assert visitor.place("toy-step")["interactive"] is True


def test_the_second_run_is_recalled(visitor: Visitor) -> None:
    finish(visitor.run(steps=6))
    before = drawn(visitor)
    finish(visitor.run(steps=6))
    assert visitor.status == "<p>Recalled; nothing was computed.</p>"
    assert drawn(visitor) == before


def test_two_pages_share_one_computation(engine: Engine) -> None:
    first, second = Visitor(toy_wiring(engine)), Visitor(toy_wiring(engine))
    ours, theirs = (each.run(steps=8, pause=0.05) for each in (first, second))
    began(first, ours)
    began(second, theirs)
    (job,) = engine.runner.jobs()
    assert job.followers == 2
    finish(ours)
    finish(theirs)
    for each in (first, second):
        assert each.status == "<p>Done: 8 parts computed, 8 steps made.</p>"
        assert drawn(each)["frames"]


def test_pages_in_threads_each_get_their_own_result(wiring: Wiring, engine: Engine) -> None:
    visitors = [Visitor(wiring) for _ in range(8)]

    def work(visitor: Visitor, count: int) -> None:
        finish(visitor.run(steps=count, pause=0.01))

    threads = [
        threading.Thread(target=work, args=(visitor, 2 + number % 4))
        for number, visitor in enumerate(visitors)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = [visitor.shown["request"]["steps"] for visitor in visitors]
    assert shown == [2 + n % 4 for n in range(8)]
    assert [len(drawn(v)["frames"]) for v in visitors] == shown
    assert is_idle(engine)


# Stop, and pages that are closed


def test_stop_alone_ends_the_work_at_its_next_step(visitor: Visitor, engine: Engine) -> None:
    steps = visitor.run(steps=500, pause=0.05)
    picture(visitor, steps)
    pressed = time.monotonic()
    visitor.stop()
    assert "Stopping" in visitor.status
    finish(steps)
    assert time.monotonic() - pressed < 1
    assert "Stopped. What was computed is kept" in visitor.status
    assert visitor.seen[visitor.page.run]["interactive"] is True
    assert visitor.running == ""
    assert is_idle(engine)


def test_after_stop_run_goes_on_from_there(visitor: Visitor) -> None:
    steps = visitor.run(steps=20, pause=0.1)
    while not re.search(r"step [4-9]", visitor.status):
        next(steps)
    visitor.stop()
    finish(steps)
    finish(visitor.run(steps=20, pause=0.1))
    made = re.search(r"(\d+) steps made", visitor.status)
    assert made
    assert int(made[1]) <= 16


def test_stop_by_one_page_leaves_the_other_its_run(wiring: Wiring, engine: Engine) -> None:
    first, second = Visitor(wiring), Visitor(wiring)
    ours, theirs = (each.run(steps=10, pause=0.05) for each in (first, second))
    assert began(first, ours) != began(second, theirs)
    first.stop()
    finish(ours)
    assert "Stopped" in first.status
    finish(theirs)
    assert "10 steps made" in second.status


def test_stop_when_nothing_runs_changes_nothing(visitor: Visitor) -> None:
    finish(visitor.run(steps=2))
    before = visitor.status
    (update,) = visitor.wiring.stop("no such run").values()
    assert "value" not in update
    assert visitor.status == before


def test_a_closed_page_ends_its_job(visitor: Visitor, engine: Engine) -> None:
    steps = visitor.run(steps=500, pause=0.05)
    picture(visitor, steps)
    steps.close()
    assert is_idle(engine)
    assert visitor.wiring.runs.get(visitor.running) is None


def test_a_page_closed_at_its_first_answers_ends_its_job(visitor: Visitor, engine: Engine) -> None:
    for answers in (1, 2):
        steps = visitor.run(steps=500, pause=0.05)
        for _ in range(answers):
            next(steps)
        steps.close()
        assert is_idle(engine)


def test_a_job_that_goes_on_outlives_its_page_until_stop(visitor: Visitor, engine: Engine) -> None:
    steps = visitor.run(goes_on=True, steps=500, pause=0.02)
    picture(visitor, steps)
    steps.close()
    time.sleep(0.1)
    (job,) = engine.runner.jobs()
    assert job.followers == 0
    again = Visitor(visitor.wiring)
    steps = again.run(steps=500, pause=0.02)
    began(again, steps)
    again.stop()
    finish(steps)
    assert is_idle(engine)


def test_a_job_ended_on_the_status_page(visitor: Visitor, engine: Engine) -> None:
    steps = visitor.run(steps=500, pause=0.05)
    picture(visitor, steps)
    job = engine.runner.find(key_of(engine, steps=500, pause=0.05))
    assert job is not None
    job.end()
    finish(steps)
    assert visitor.status == "<p>Stopped on the status page.</p>"
    assert visitor.seen[visitor.page.run]["interactive"] is True


# Errors


def test_a_bad_request_stands_at_its_field_until_the_next_run(visitor: Visitor) -> None:
    sentence = "Field 'steps' is 5000; it must be at most 1000."
    finish(visitor.run(steps=5000))
    place = visitor.place("toy-steps")
    assert (place["info"], place["elem_classes"]) == (sentence, ["gw-field", "gw-wrong"])
    assert f"role='alert'>{sentence.replace(chr(39), '&#x27;')}</p>" in visitor.status
    assert visitor.seen[visitor.page.run]["interactive"] is True
    finish(visitor.run(text="no!"))
    assert visitor.place("toy-steps")["elem_classes"] == ["gw-field"]
    assert visitor.place("toy-text")["elem_classes"] == ["gw-field", "gw-wrong"]
    finish(visitor.run())
    assert visitor.place("toy-text")["elem_classes"] == ["gw-field"]
    assert "alert" not in visitor.status


def test_a_bad_request_keeps_what_is_shown(visitor: Visitor) -> None:
    finish(visitor.run(steps=4))
    before = (visitor.shown, drawn(visitor), foot(visitor))
    finish(visitor.run(steps=0))
    assert (visitor.shown, drawn(visitor), foot(visitor)) == before


def test_an_emptied_number_is_refused(visitor: Visitor, engine: Engine) -> None:
    finish(visitor.run(steps=None))
    assert "must be a whole number" in visitor.status
    assert engine.runner.jobs() == []


def test_an_unexpected_error_is_one_sentence_and_in_the_log(
    visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="glasswork.page"):
        finish(visitor.run(fail=True))
    found = re.search(r"Something went wrong \(id ([0-9a-f]{4})\)", visitor.status)
    assert found
    assert "Traceback" not in visitor.status
    assert "the toy" not in visitor.status
    (record,) = caplog.records
    assert record.getMessage().startswith(f"id {found[1]}: ValueError\n")
    assert "in compute" in record.getMessage()
    assert visitor.seen[visitor.page.run]["interactive"] is True


def test_a_result_that_left_the_cache_is_named(visitor: Visitor, engine: Engine) -> None:
    finish(visitor.run(steps=4))
    engine.store.delete(visitor.shown["key"])
    for act in (
        lambda: visitor.relook("step", step=1),
        lambda: visitor.pick("picked", "1"),
        lambda: visitor.advance(step=1),
        lambda: finish(visitor.ask(picked="1")),
    ):
        visitor.seen[visitor.page.status] = ""
        act()
        assert "left the cache; press Run" in visitor.status
    finish(visitor.run(steps=4))
    assert "Done" in visitor.status


def test_an_error_in_a_picture_is_a_sentence_and_the_run_goes_on(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    finish(visitor.run(steps=4))

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("no picture")

    monkeypatch.setattr("app.wiring.drawn", broken)
    updates = visitor.relook("step", step=1)
    assert "Something went wrong (id " in visitor.status
    assert visitor.page.run not in updates
    assert "no picture" in caplog.text


# The look


def places(updates: Any) -> set[str]:
    """Return the ids of the components that an answer changes, without the foot."""
    return {component.elem_id for component in updates if component.elem_id} - {"toy-foot"}


def test_a_control_redraws_what_uses_it_and_not_what_follows_it(visitor: Visitor) -> None:
    finish(visitor.run(steps=6))
    updates = visitor.relook("step", step=2)
    assert places(updates) == {"toy-card"}
    assert "at step 2" in visitor.place("toy-card")["value"]
    assert foot(visitor)["link"] == "?method=toy&steps=6&look.step=2"
    assert foot(visitor)["export"].endswith(".zip?method=toy&look.step=2")
    assert places(visitor.relook("chosen", step=2, chosen="1,2")) == {"toy-several"}


def test_a_look_that_cannot_be_is_put_right(visitor: Visitor) -> None:
    finish(visitor.run(steps=6))
    for step in (999, -3, "x", None):
        visitor.relook("step", step=step)
        assert "at step" in visitor.place("toy-card")["value"]
    assert visitor.status.startswith("<p>Done")


def test_a_click_sets_its_control_and_draws(visitor: Visitor) -> None:
    finish(visitor.run(steps=6))
    updates = visitor.pick("picked", "4", step=5)
    assert places(updates) == {"toy-card", "toy-picked"}
    assert visitor.place("toy-picked")["value"] == "4"
    assert "picked: 4 at step 5" in visitor.place("toy-card")["value"]
    assert foot(visitor)["link"].endswith("&look.picked=4")
    for odd in (None, "", 7, {"a": 1}, "<b>" * 1000):
        visitor.pick("picked", odd, step=5)
        assert "<b>" not in visitor.place("toy-card")["value"]
        assert len(visitor.place("toy-picked")["value"]) <= 100


def test_a_selection_is_joined(visitor: Visitor) -> None:
    finish(visitor.run(steps=6))
    visitor.pick("chosen", ["1", "3", 5])
    assert visitor.place("toy-chosen")["value"] == "1,3,5"
    assert visitor.place("toy-several")["value"] == "<p>chosen: 1,3,5</p>"
    visitor.pick("chosen", [])
    assert visitor.place("toy-chosen")["value"] == ""


def test_a_long_selection_leaves_the_link_usable(visitor: Visitor) -> None:
    finish(visitor.run(steps=3))
    visitor.pick("chosen", [str(n) for n in range(1000)])
    assert len(visitor.place("toy-chosen")["value"]) > 3000
    assert foot(visitor)["link"] == "?method=toy"
    assert foot(visitor)["export"].endswith(".zip?method=toy")


def test_playing_goes_round(visitor: Visitor) -> None:
    finish(visitor.run(steps=3))
    step, went = 0, []
    for _ in range(4):
        visitor.advance(step=step)
        step = visitor.place("toy-step")["value"]
        went.append(step)
    assert went == [1, 2, 0, 1]
    assert foot(visitor)["link"].endswith("&look.step=1")
    assert places(visitor.advance(step=1)) == {"toy-step", "toy-card"}


def test_nothing_is_drawn_before_the_first_result(visitor: Visitor) -> None:
    for updates in (
        visitor.relook("step", step=1),
        visitor.pick("picked", "1"),
        visitor.advance(step=1),
        *finish(visitor.ask(picked="1")),
    ):
        assert list(updates) == [visitor.page.status]
        assert "value" not in updates[visitor.page.status]


def test_a_look_wanted_during_a_run_is_that_of_the_final_picture(visitor: Visitor) -> None:
    finish(visitor.run(steps=9))
    steps = visitor.run(steps=10, pause=0.1, look={"step": 8})
    began(visitor, steps)
    assert drawn(visitor)["preliminary"] is False
    visitor.relook("step", step=6)  # There is no preliminary picture yet.
    finish(steps)
    assert (ring(visitor), visitor.place("toy-step")["value"]) == (6, 6)
    assert foot(visitor)["link"].endswith("&look.step=6")


def test_a_look_on_the_preliminary_picture_keeps_the_rest_of_the_wanted_look(
    visitor: Visitor,
) -> None:
    finish(visitor.run(steps=9))
    steps = visitor.run(steps=10, pause=0.1, look={"step": 7})
    while not drawn(visitor)["preliminary"]:
        next(steps)
    visitor.pick("picked", "0", step=0)
    assert "picked: 0" in visitor.place("toy-card")["value"]
    assert drawn(visitor)["preliminary"] is True
    finish(steps)
    assert ring(visitor) == 7
    assert "picked: 0 at step 7" in visitor.place("toy-card")["value"]


def test_looks_from_another_thread_during_a_run_do_no_harm(visitor: Visitor) -> None:
    steps, is_over = visitor.run(steps=40, pause=0.02), threading.Event()
    errors: list[Any] = []
    running = began(visitor, steps)

    def drag() -> None:
        for n in range(10_000):
            if is_over.is_set():
                return
            updates = visitor.wiring.relook("step", {}, running, n % 40, "", "")
            errors.extend(v for v in updates.values() if "went wrong" in str(v))

    thread = threading.Thread(target=drag)
    thread.start()
    finish(steps)
    is_over.set()
    thread.join()
    assert errors == []
    assert len(drawn(visitor)["frames"]) == 40


# Follow-up requests


def test_a_follow_up_runs_and_shows(visitor: Visitor, engine: Engine) -> None:
    finish(visitor.run(steps=6))
    before = visitor.shown
    answers = finish(visitor.ask(picked="4"))
    assert visitor.page.running in answers[0]
    opened = visitor.place("toy-opened")
    assert (opened["value"], opened["visible"]) == ("<p>5</p>", True)
    assert visitor.shown == before
    assert visitor.running == ""
    assert engine.store.find_request(key_of(engine, steps=5)) is not None


def test_what_was_asked_for_goes_with_its_result_and_its_choice(visitor: Visitor) -> None:
    finish(visitor.run(steps=6))
    finish(visitor.ask(picked="4"))
    finish(visitor.ask(picked=""))
    assert visitor.place("toy-opened")["visible"] is False
    finish(visitor.ask(picked="3"))
    assert visitor.place("toy-opened")["visible"] is True
    finish(visitor.run(steps=7))
    assert visitor.place("toy-opened")["visible"] is False


def test_a_follow_up_can_be_stopped_and_the_look_moves_meanwhile(
    visitor: Visitor, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(visitor.run(steps=6))
    slow = ("toy", {"steps": 500, "pause": 0.05})
    follow_up = visitor.page.panel.follow_ups[0]
    monkeypatch.setitem(follow_up.__dict__, "opens", lambda result, look: slow)
    steps = visitor.ask(picked="4")
    began(visitor, steps)
    visitor.relook("step", step=2)
    assert "at step 2" in visitor.place("toy-card")["value"]
    visitor.stop()
    finish(steps)
    assert "Stopped" in visitor.status
    assert is_idle(engine)


def test_a_follow_up_that_is_refused_is_a_sentence(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(visitor.run(steps=6))
    follow_up = visitor.page.panel.follow_ups[0]
    for asked, said in ((("toy", {"steps": 0}), "at least 1"), (("none", {}), "is unknown")):
        monkeypatch.setitem(follow_up.__dict__, "opens", lambda result, look, a=asked: a)
        finish(visitor.ask(picked="4"))
        assert said in visitor.status


# Opening


def test_the_first_visit_fills_the_form_and_computes_nothing(
    visitor: Visitor, engine: Engine
) -> None:
    finish(visitor.visit({}))
    assert visitor.place("toy-steps")["value"] == 3
    assert "Press Run" in visitor.place("toy-squares")
    assert visitor.seen[visitor.page.visits] == 2
    assert visitor.seen[visitor.page.banner] == ""
    assert len(finish(visitor.visit({}, 2))) == 1
    assert engine.runner.jobs() == []
    assert engine.store.usage().entries == 0


def test_the_first_tool_waits_when_the_link_is_for_another(engine: Engine) -> None:
    first = Visitor(toy_wiring(engine, is_first=True))
    (only,) = finish(first.visit({"method": "knowledge_map"}))
    assert only == {first.page.visits: 1}
    finish(first.visit({"method": "knowledge_map"}, 1))
    assert first.place("toy-steps")["value"] == 3


def test_a_link_to_a_method_that_is_unknown_is_named_once(engine: Engine) -> None:
    first = Visitor(toy_wiring(engine, is_first=True))
    finish(first.visit({"method": "<b>" * 20_000}))
    assert "is unknown here" in first.seen[first.page.banner]
    assert len(first.seen[first.page.banner]) < 1000
    assert "<b>" not in first.seen[first.page.banner]
    second = Visitor(toy_wiring(engine))
    finish(second.visit({"method": "nonsense"}))
    assert second.seen[second.page.banner] == ""


def test_a_link_recalls_the_stored_result_with_its_look(visitor: Visitor, engine: Engine) -> None:
    finish(visitor.run(steps=6))
    other = Visitor(visitor.wiring)
    finish(other.visit({"method": "toy", "steps": "6", "look.step": "2", "look.picked": "1"}))
    assert (ring(other), other.shown["key"]) == (2, visitor.shown["key"])
    assert "picked: 1 at step 2" in other.place("toy-card")["value"]
    assert foot(other)["link"] == "?method=toy&steps=6&look.step=2&look.picked=1"
    assert "Recalled" in other.status
    assert engine.runner.jobs() == []


def test_a_link_to_a_running_job_follows_it(visitor: Visitor, engine: Engine) -> None:
    steps = visitor.run(steps=30, pause=0.02)
    began(visitor, steps)
    other = Visitor(visitor.wiring)
    theirs = other.visit({"method": "toy", "steps": "30", "pause": "0.02", "look.step": "3"})
    began(other, theirs)
    (job,) = engine.runner.jobs()
    assert job.followers == 2
    finish(theirs)
    finish(steps)
    assert ring(other) == 3
    assert "30 steps made" in other.status


def test_a_link_to_a_job_that_is_being_stopped_begins_no_new_one(
    visitor: Visitor, engine: Engine
) -> None:
    steps = visitor.run(steps=3, pause=0.8)
    picture(visitor, steps)
    job = engine.runner.find(key_of(engine, steps=3, pause=0.8))
    assert job is not None
    job.end()
    other = Visitor(visitor.wiring)
    finish(other.visit({"method": "toy", "steps": "3", "pause": "0.8"}))
    assert other.shown == {}
    assert other.running == ""
    assert is_idle(engine)
    finish(steps)
