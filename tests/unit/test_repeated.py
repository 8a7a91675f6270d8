"""Updates of properties are repeated for two seconds, so that no answer takes them back."""

from app.repeated import repeated


def update(**properties: object) -> dict[str, object]:
    """Return an update as Gradio makes it."""
    return {"__type__": "update", **properties}


def test_updates_are_repeated_and_then_left_alone() -> None:
    times = iter([0.0, 0.5, 1.9, 2.1])
    answers = [{"run": update(visible=True), "text": "a"}, {"text": "b"}, {"text": "c"}, {}]
    seen = list(repeated(answers, lambda: next(times)))
    assert [each.get("run") for each in seen] == [update(visible=True)] * 3 + [None]
    assert [each.get("text") for each in seen] == ["a", "b", "c", None]


def test_a_later_update_adds_to_the_one_before_and_a_value_takes_its_place() -> None:
    answers = [{"f": update(value=1)}, {"f": update(info="x")}, {"f": "plain"}, {"g": 1}]
    seen = list(repeated(answers, lambda: 0.0))
    assert [each.get("f") for each in seen] == [
        update(value=1),
        update(value=1, info="x"),
        "plain",
        None,
    ]
    assert answers[1]["f"] == update(info="x"), "the answers themselves stay as they are"


def test_closing_closes_what_is_repeated() -> None:
    closed = []

    def answers() -> object:
        try:
            yield {}
        finally:
            closed.append(True)

    steps = repeated(answers())  # type: ignore[arg-type]
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert closed == [True]
