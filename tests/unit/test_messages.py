"""Sentences of the page: every text is escaped, numbers are in words."""

from collections.abc import Callable

import pytest

from app import messages
from backends.jobs.base import Stored
from backends.watch import Progress

EVIL = "<img src=x onerror=alert(1)> & \"quoted\" 'too'"
MAKERS: list[Callable[[str], str]] = [
    messages.message,
    messages.problem,
    lambda text: messages.banner([text, "other"]),
    lambda text: messages.progress(Progress(1, 2, text)),
    lambda text: messages.done(Stored(None, {}, False, {text: 3})),
]


@pytest.mark.parametrize("make", MAKERS)
def test_texts_are_escaped(make: Callable[[str], str]) -> None:
    made = make(EVIL)
    assert "<img" not in made
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quoted&quot; &#x27;too&#x27;" in made


def test_nothing_to_say_is_nothing() -> None:
    assert messages.message("") == messages.banner([]) == ""


def test_errors_are_alerts() -> None:
    assert "role='alert'" in messages.problem("no")
    assert messages.banner(["one", "two"]).count("<li>") == 2


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Progress(0, 0, ""), "<p>starting</p>"),
        (Progress(0, 0, "waiting"), "<p>waiting</p>"),
        (Progress(1, 4, "a"), "<p>a · 25 %</p><progress max='1' value='0.250'></progress>"),
        (Progress(9, 4, "a"), "<p>a · 100 %</p><progress max='1' value='1.000'></progress>"),
        (Progress(0, 0, "a", 12.4), "<p>a · about 12 s left</p>"),
        (Progress(0, 0, "a", 200.0), "<p>a · about 3 min left</p>"),
    ],
)
def test_progress(state: Progress, said: str) -> None:
    assert messages.progress(state) == said


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (Stored(None, {}, True, {"steps": 3}), "Recalled; nothing was computed."),
        (Stored(None, {}, False), "Done."),
        (Stored(None, {}, False, {"results_computed": 1}), "Done."),
        (
            Stored(None, {}, False, {"forward_passes": 2, "batches": 1, "results_recalled": 1}),
            "Done: 1 batches, 2 forward passes.",
        ),
    ],
)
def test_done(stored: Stored, said: str) -> None:
    assert messages.done(stored) == f"<p>{said}</p>"


def test_a_wrong_field_is_seen_and_a_right_one_is_as_before() -> None:
    assert messages.wrong("no")["visible"] is True
    assert "gw-wrong" in messages.wrong("no")["elem_classes"]
    assert messages.right(None) == {"info": None, "elem_classes": ["gw-field"]}
