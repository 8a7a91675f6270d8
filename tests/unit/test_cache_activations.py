"""Activations: found by model, tokens and hook; rows point to files that exist."""

import sqlite3
from contextlib import closing
from inspect import signature

import numpy as np
import pytest

from cache import Activations, Store
from cache.files import file_path, scan

SAME = {
    "model_id": "smollm2-135m",
    "revision": "abc",
    "dtype": "float32",
    "hook": "blocks.0.hook_out",
    "ids": [1, 2, 3],
    "positions": "all",
    "attention": "eager",
    "library": "4",
}
HOOKS = ("blocks.0.hook_out", "blocks.1.hook_out")


def name(text, hook):
    return Activations.key(**{**SAME, "hook": hook, "ids": [text]})


def capture(activations, texts, seed=0, width=4):
    """Store one call: each text has as many positions as its number says."""
    rng = np.random.default_rng(seed)
    total = sum(texts)
    blocks = {hook: rng.normal(size=(total, width)).astype(np.float32) for hook in HOOKS}
    rows, expected, start = [], {}, 0
    for text in texts:
        for hook in HOOKS:
            rows.append((name(text, hook), hook, start, start + text))
            expected[name(text, hook)] = blocks[hook][start : start + text]
        start += text
    activations.put(blocks, rows)
    return expected


@pytest.fixture
def opened(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def activations(opened):
    return Activations(opened)


def same(found, expected):
    return all(
        array is not None and np.array_equal(array, expected[key])
        for key, array in zip(expected, found, strict=True)
    )


def rows_of(opened):
    with closing(sqlite3.connect(opened.root / "index.sqlite")) as db:
        return db.execute("SELECT key, file, name, start, stop FROM activations").fetchall()


@pytest.mark.parametrize("field", SAME)
def test_every_field_is_part_of_the_key(field):
    other = {"ids": [1, 2], "positions": [0]}.get(field, "other")
    assert Activations.key(**{**SAME, field: other}) != Activations.key(**SAME)
    assert list(signature(Activations.key).parameters) == list(SAME)


def test_a_key_does_not_depend_on_the_kind_of_sequence():
    one = Activations.key(**{**SAME, "ids": np.array([1, 2]), "positions": np.array([0, 5])})
    assert one == Activations.key(**{**SAME, "ids": (1, 2), "positions": (0, 5)})


def test_positions_are_all_or_numbers():
    with pytest.raises(ValueError, match="Positions are \"all\" or a list of numbers, not 'last'"):
        Activations.key(**{**SAME, "positions": "last"})


def test_what_was_put_is_found(activations):
    expected = capture(activations, [2, 5, 3])
    found = activations.get(list(expected))
    assert same(found, expected)
    assert {array.dtype for array in found} == {np.dtype(np.float32)}
    with pytest.raises(ValueError, match="read-only"):
        found[0][0, 0] = 1


def test_unknown_keys_are_misses_in_their_places(activations):
    expected = capture(activations, [2])
    known = name(2, HOOKS[0])
    found = activations.get([name(9, HOOKS[0]), known, name(8, HOOKS[0]), known])
    assert [array is None for array in found] == [True, False, True, False]
    assert np.array_equal(found[3], expected[known])
    assert activations.get([]) == []


def test_one_call_is_one_file_and_reading_opens_it_once(activations, opened, monkeypatch):
    expected = capture(activations, [2, 5]) | capture(activations, [3])
    assert len(scan(opened.root).keys) == 2
    opening = []
    get = opened.get
    monkeypatch.setattr(opened, "get", lambda key: opening.append(key) or get(key))
    assert same(activations.get(list(expected)), expected)
    assert len(opening) == 2


def test_more_keys_than_a_statement_may_have(activations):
    texts = 700
    block = np.arange(texts, dtype=np.float32)[:, None]
    keys = [name(text, HOOKS[0]) for text in range(texts)]
    rows = [(key, HOOKS[0], text, text + 1) for text, key in enumerate(keys)]
    activations.put({HOOKS[0]: block}, rows)
    found = activations.get(keys[::-1])
    assert [array.item() for array in found] == list(range(texts))[::-1]


def test_a_text_of_no_positions_has_no_rows(activations):
    activations.put({"h": np.zeros((2, 3), np.float32)}, [(name(1, "h"), "h", 1, 1)])
    assert activations.get([name(1, "h")])[0].shape == (0, 3)


def test_no_rows_are_no_file(activations, opened):
    activations.put({}, [])
    assert opened.usage().entries == 0


def test_the_newest_file_wins_and_its_eviction_takes_no_other_rows(activations, opened):
    first = capture(activations, [2, 3], seed=1)
    (older,) = scan(opened.root).keys
    second = capture(activations, [3, 4], seed=2)
    assert same(activations.get(list(first | second)), first | second)
    opened.delete(older)
    assert same(activations.get(list(second)), second)
    assert activations.get([name(2, HOOKS[0])]) == [None]
    assert opened.verify().clean


@pytest.mark.parametrize("damage", ["missing", "noise"])
def test_a_lost_file_is_a_miss_for_its_keys_only(activations, opened, damage):
    lost = capture(activations, [2, 3])
    (file,) = scan(opened.root).keys
    kept = capture(activations, [4])
    path = file_path(opened.root, file)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    again = Activations(Store(opened.root))
    assert again.get(list(lost)) == [None] * 4
    assert same(again.get(list(kept)), kept)
    assert {row[0] for row in rows_of(opened)} == set(kept)


def test_eviction_removes_the_rows(tmp_path):
    opened = Store(tmp_path, 3000)
    activations = Activations(opened)
    first = capture(activations, [50], seed=1)
    second = capture(activations, [51], seed=2)
    assert activations.get(list(first)) == [None, None]
    assert same(activations.get(list(second)), second)
    assert {row[0] for row in rows_of(opened)} == set(second)


def test_clear_removes_the_rows(activations, opened):
    capture(activations, [2])
    assert opened.clear() == 1
    assert rows_of(opened) == []


def test_rows_are_rebuilt_from_the_files(activations, opened):
    expected = capture(activations, [2, 3]) | capture(activations, [5])
    before = sorted(rows_of(opened))
    root = opened.root
    for path in root.glob("index.sqlite*"):
        path.unlink()
    again = Store(root)
    assert sorted(rows_of(again)) == before
    assert same(Activations(again).get(list(expected)), expected)
    assert again.usage().by_kind["activation/1"][0] == 2


def test_an_orphaned_row_is_a_finding_and_a_miss(activations, opened):
    expected = capture(activations, [2])
    with closing(sqlite3.connect(opened.root / "index.sqlite")) as db, db:
        db.execute("DELETE FROM entries")
    for path in opened.root.glob("*/*.safetensors"):
        path.unlink()
    assert sorted(opened.verify().missing) == sorted(expected)
    assert activations.get(list(expected)) == [None, None]


def test_a_row_outside_its_block_is_a_miss(activations, opened):
    expected = capture(activations, [2])
    with closing(sqlite3.connect(opened.root / "index.sqlite")) as db, db:
        db.execute("UPDATE activations SET stop = 3 WHERE key = ?", (name(2, HOOKS[0]),))
        db.execute("UPDATE activations SET name = 'x' WHERE key = ?", (name(2, HOOKS[1]),))
    assert activations.get(list(expected)) == [None, None]


@pytest.mark.parametrize("failing", ["os.replace", "cache.index.Index.add"])
def test_a_failing_write_leaves_no_row(activations, opened, monkeypatch, failing):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, refuse)
    expected = capture(activations, [2])
    assert activations.get(list(expected)) == [None, None]
    assert rows_of(opened) == []


def test_a_broken_index_is_a_miss(activations, opened, monkeypatch):
    expected = capture(activations, [2])

    def refuse(*_):
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(opened.index, "_db", refuse)
    assert activations.get(list(expected)) == [None, None]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (("k", "h", 0, 4), "Rows 0..4 are outside 0..3"),
        (("k", "h", -1, 2), "Rows -1..2 are outside 0..3"),
        (("k", "h", 2, 1), "Rows 2..1 are outside 0..3"),
        (("k", "other", 0, 1), "Block 'other' is missing; there are h"),
    ],
)
def test_rows_outside_their_block_are_refused(activations, row, sentence):
    with pytest.raises(ValueError, match=sentence):
        activations.put({"h": np.zeros((3, 2), np.float32)}, [row])


@pytest.mark.parametrize("block", [np.zeros((3, 2)), np.zeros(3, np.float32)])
def test_other_blocks_are_refused(activations, block):
    with pytest.raises(ValueError, match="not float32 and 2"):
        activations.put({"h": block}, [("k", "h", 0, 1)])
