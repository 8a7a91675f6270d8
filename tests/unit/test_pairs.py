"""The built-in pairs, and the reader of a user's table of pairs."""

from typing import get_args

import pytest

from backends.concepts.pairs import MOST_PAIRS, Pair, PairSet, fault, pair_set, read_pairs
from backends.errors import BadRequest

HEADER = "clean,corrupted,answer,foil\n"


@pytest.mark.parametrize("name", get_args(PairSet))
def test_each_set_has_pairs_without_fault(name: PairSet) -> None:
    pairs = pair_set(name)
    assert len(pairs) >= 6
    assert len(set(pairs)) == len(pairs)
    for pair in pairs:
        assert fault(pair) is None
        assert pair.clean != pair.corrupted
        assert pair.answer.startswith(" ")
        assert pair.foil.startswith(" ")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_keeps_leading_spaces_and_other_columns_are_ignored(mark: str) -> None:
    lines = [
        ["note", "clean", "corrupted", "answer", "foil"],
        ["x", "A is", "B is", " one", " two"],
    ]
    content = "\n".join(mark.join(line) for line in [*lines, [""]])
    assert read_pairs(("\ufeff" + content).encode()) == [Pair("A is", "B is", " one", " two")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"", "no column clean"),
        (b"clean,corrupted,answer\na,b, c\n", "no column foil"),
        (HEADER.encode(), "0 pairs"),
        ((HEADER + "a,b, c, d\n" * (MOST_PAIRS + 1)).encode(), "201 pairs"),
        ((HEADER + "a,b, c, d\n ,b, c, d\n").encode(), "Row 2: The clean text is empty"),
        ((HEADER + "a,b, c\n").encode(), "Row 1: The foil text is empty"),
        ((HEADER + "a,b, c, c\n").encode(), "must differ"),
        ((HEADER + "a" * 4_001 + ",b, c, d\n").encode(), "4001 characters"),
        ((HEADER + '"a,b, c, d\n').encode(), "not a CSV that can be read"),
    ],
)
def test_a_table_that_cannot_be_used_is_a_sentence(content: bytes, words: str) -> None:
    with pytest.raises(BadRequest, match=words) as told:
        read_pairs(content)
    assert told.value.field == "table"
    assert str(told.value).endswith(".")
