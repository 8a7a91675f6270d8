"""Fingerprints: equal for equal fields, different where JSON can tell a difference."""

import json
import string

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies
from hypothesis.strategies import SearchStrategy

from cache import canonical_json, fingerprint, hash_ids

LEAVES: SearchStrategy = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text()
)
VALUES: SearchStrategy = strategies.recursive(
    LEAVES,
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=12,
)
# A busy machine is no reason to fail.
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FIELDS = strategies.dictionaries(strategies.text(), VALUES, max_size=6)


@QUICK
@given(FIELDS, strategies.randoms(use_true_random=False))
def test_the_order_of_fields_does_not_matter(fields, random):
    shuffled = list(fields.items())
    random.shuffle(shuffled)
    assert fingerprint("result/x/1", dict(shuffled)) == fingerprint("result/x/1", fields)


@QUICK
@given(VALUES)
def test_canonical_json_says_the_same_as_its_value(value):
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text
    assert text.isascii()


@QUICK
@given(VALUES, VALUES)
def test_values_that_differ_as_json_have_different_fingerprints(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (fingerprint("k", {"value": one}) == fingerprint("k", {"value": other})) is same


@pytest.mark.parametrize("other", [1.0, "1", True, [1], None, {"1": 1}])
def test_types_are_told_apart(other):
    assert fingerprint("k", {"value": 1}) != fingerprint("k", {"value": other})


def test_kind_and_fields_are_told_apart():
    names = {
        fingerprint("k", {}),
        fingerprint("l", {}),
        fingerprint("k", {"a": {}}),
        fingerprint("k", {"a": {"b": {}}}),
        fingerprint("k", {"a": None}),
    }
    assert len(names) == 5


def test_a_fingerprint_stays_the_same_over_releases():
    expected = "ec449e534aade5fe18aebdb4e8e002e086830e649c5bebbbcab791b4afb7fd45"
    assert fingerprint("activation/1", {"layer": 3, "text": "Zürich"}) == expected


def test_a_fingerprint_is_64_hexadecimal_digits():
    name = fingerprint("k", {})
    assert len(name) == 64
    assert set(name) <= set(string.hexdigits.lower())


def test_tuples_count_as_lists():
    assert fingerprint("k", {"a": (1, (2,))}) == fingerprint("k", {"a": [1, [2]]})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), np.float64("nan")])
def test_numbers_that_json_lacks_are_refused(number):
    with pytest.raises(ValueError, match="only finite numbers"):
        fingerprint("k", {"a": [{"b": number}]})


@pytest.mark.parametrize("value", [{1, 2}, b"x", np.zeros(2), np.int64(3), object(), 1j])
def test_objects_are_refused(value):
    with pytest.raises(TypeError, match="has no place in JSON"):
        fingerprint("k", {"a": value})


@pytest.mark.parametrize("name", [1, None, ("a",)])
def test_keys_that_are_not_texts_are_refused(name):
    with pytest.raises(TypeError, match="JSON keys are texts"):
        fingerprint("k", {"a": {name: 1}})


@QUICK
@given(strategies.lists(strategies.integers(0, 2**40)), strategies.lists(strategies.integers(0, 9)))
def test_token_ids_are_told_apart(one, other):
    assert (hash_ids(one) == hash_ids(other)) is (one == other)


def test_token_ids_may_come_from_numpy():
    assert hash_ids(np.array([5, 7], dtype=np.int32)) == hash_ids((5, 7)) == hash_ids([5, 7])


def test_token_ids_are_whole_numbers():
    with pytest.raises(TypeError):
        hash_ids([1.0])
