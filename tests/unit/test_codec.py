"""A result survives being split into arrays and JSON; its arrays say what their axes are."""

import json
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from backends.codec import array_fields, pack, unpack, value_fields


@dataclass(frozen=True, slots=True)
class Parts:
    """A result with everything that a result may have."""

    scores: Float[np.ndarray, "layer head"]
    n: int
    counts: Int[np.ndarray, "layer"] | None
    one: Float[np.ndarray, ""]
    names: list[str]
    note: str | None
    by_name: dict[str, float]
    share: float


def parts(**changes: object) -> Parts:
    """Return a result."""
    fields: dict[str, object] = {
        "scores": np.array([[1.5, np.nan], [np.inf, -0.0]], dtype=np.float32),
        "n": 3,
        "counts": np.array([1, 2], dtype=np.int32),
        "one": np.array(0.25, dtype=np.float32),
        "names": ["é", "<b>"],
        "note": None,
        "by_name": {"a": 0.5},
        "share": 0.75,
    }
    return Parts(**(fields | changes))  # type: ignore[arg-type]


def test_axes_are_read_from_the_annotations() -> None:
    assert array_fields(Parts) == {"scores": ["layer", "head"], "counts": ["layer"], "one": []}
    assert value_fields(Parts) == ["n", "names", "note", "by_name", "share"]


def test_a_result_comes_back_as_it_was() -> None:
    made = parts()
    arrays, values = pack(made)
    back = unpack(Parts, arrays, json.loads(json.dumps(values, allow_nan=False)))
    for name in array_fields(Parts):
        mine, theirs = getattr(made, name), getattr(back, name)
        assert mine.dtype == theirs.dtype
        assert mine.tobytes() == theirs.tobytes()
    for name in value_fields(Parts):
        assert getattr(made, name) == getattr(back, name)


def test_an_array_that_is_none_is_left_out_and_comes_back() -> None:
    arrays, values = pack(parts(counts=None))
    assert sorted(arrays) == ["one", "scores"]
    assert unpack(Parts, arrays, values).counts is None


def test_values_that_are_no_number_become_none() -> None:
    _, values = pack(
        parts(share=float("nan"), by_name={"a": float("inf"), "b": [1.0, float("nan")]})
    )
    assert values["share"] is None
    assert values["by_name"] == {"a": None, "b": [1.0, None]}
    json.dumps(values, allow_nan=False)


def test_tuples_become_lists_and_numbers_stay() -> None:
    _, values = pack(parts(names=("a", ("b", 1, True))))
    assert values["names"] == ["a", ["b", 1, True]]
