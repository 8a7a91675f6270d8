"""The method mcbif: its values on the worked example, null, contributions, stop, files."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept
from backends.contract import Known
from backends.errors import BadRequest, Cancelled
from backends.jobs.base import Stored
from backends.math import conflicts
from backends.math.hilbert import hilbert_functions
from backends.methods.mcbif import METHOD
from backends.partitions.analysis import FEWEST_DRAWS, _scored
from backends.partitions.result import PartitionResult
from backends.watch import Progress
from launch import build

Run = Callable[..., Stored]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine for the tests of this module."""
    home = tmp_path_factory.mktemp("home")
    made = build(Settings(home, home / "models", 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


@pytest.fixture(scope="module")
def run(shared: Engine, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a request; `table` is the content of an uploaded file."""

    def computed(table: str | None = None, **fields: Any) -> Stored:
        if table is not None:
            file = tmp_path_factory.mktemp("table") / "labels.csv"
            file.write_text(table, "utf-8")
            fields["partitions"] = shared.known.uploads.add(file)
        request = accept(METHOD, {"draws": 0, "contributions": False, **fields}, shared.known)
        return shared.runner.submit(METHOD, request).result()

    return computed


def table_of(labels: np.ndarray) -> str:
    """Return a CSV with a row for each element."""
    lines = [",".join(str(m + 1) for m in range(len(labels)))]
    return "\n".join([*lines, *(",".join(map(str, column)) for column in labels.T)])


def test_the_worked_example(run: Run) -> None:
    result = run(example="three_elements").result
    assert (result.n, result.scales) == (3, [1, 2, 3, 4, 5])
    assert (result.c0_bar, result.c1_bar) == pytest.approx((0.25, 0.2))
    assert (result.c0_bar_scale_weighted, result.c1_bar_scale_weighted) == pytest.approx(
        (0.25, 0.2)
    )
    assert result.mcf_c0.tolist() == [0, 0, 0.5, 0.5, 0]
    assert result.mcf_c0_bar == 0.25
    assert result.mcf_delta1.tolist() == [0, 0, 0, 1, -1]
    assert result.mcf_delta2.tolist() == [0] * 5
    assert result.max_hf1 == 1
    assert (result.crossing_lower_bound, result.draws, result.c1_z) == (0, 0, None)
    assert result.crossing_number == 0
    assert result.cluster_scale.tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert result.cluster_size.tolist() == [1, 1, 1, 2, 1, 1, 2, 2, 1, 3]
    assert not np.tril(result.c0, -1).any()
    assert np.isnan(result.contribution_c1).all()


def test_a_table_of_the_user(run: Run) -> None:
    stored = run("name,0.5,2\nann,a,x\nbob,a,y\ncid,b,x\ndan,b,y")
    result = stored.result
    assert result.elements == ["ann", "bob", "cid", "dan"]
    assert result.scales == [0.5, 2]
    assert result.cluster_names == [["a", "b"], ["x", "y"]]
    assert result.hf1.tolist() == [[0, 1], [0, 0]]
    assert result.crossing_lower_bound == 1
    assert stored.provenance["n"] == 4


@pytest.mark.parametrize("table", ["1\n0", "1,2,3\n0,0,0", "7\n0\n1\n2"])
def test_one_element_or_one_scale(run: Run, table: str) -> None:
    result = run(table, draws=FEWEST_DRAWS, contributions=True).result
    assert (result.c0_bar, result.c1_bar) == (0, 0)
    assert (result.c0_z, result.c1_p) == (None, None)
    assert result.draws == FEWEST_DRAWS


def test_the_null_keeps_sizes_and_depends_on_the_seed_only(run: Run) -> None:
    labels = np.random.default_rng(0).integers(0, 4, (6, 30))
    one = run(table_of(labels), draws=40).result
    more = run(table_of(labels), draws=60).result
    assert (one.draws, one.draws_wanted, len(one.null_c1_bar)) == (40, 40, 40)
    np.testing.assert_array_equal(one.null_c1_bar, more.null_c1_bar[:40])
    other = run(table_of(labels), draws=40, seed=1).result
    assert (one.null_c1_bar != other.null_c1_bar).any()
    assert (one.null_hf1_low <= one.null_hf1_mean).all()
    assert (one.null_hf1_mean <= one.null_hf1_high).all()
    np.testing.assert_array_equal(np.diag(one.null_hf0_mean), one.n_clusters)
    # The table is itself a draw of such a null.
    assert abs(one.c1_z) < 4
    assert 2 / 41 <= one.c1_p <= 1


def test_a_nested_sequence_is_far_below_its_null(run: Run) -> None:
    labels = np.stack([np.arange(32) // 2**m for m in range(6)])
    result = run(table_of(labels), draws=40).result
    assert (result.c0_bar, result.c1_bar) == (0, 0)
    assert result.c1_z < -4
    assert result.c1_p == pytest.approx(2 / 41)


def test_contributions_are_those_of_leaving_out(run: Run) -> None:
    labels = np.random.default_rng(1).integers(0, 3, (5, 9))
    labels[:, 4] = labels[:, 2]
    result = run(table_of(labels), contributions=True).result
    rest = np.delete(labels, [2, 4], axis=1)
    expected = conflicts.average(hilbert_functions(rest)[1]) - result.c1_bar
    assert result.contribution_c1[2] == pytest.approx(expected, abs=1e-6)
    assert result.contribution_c1[4] == result.contribution_c1[2]
    assert np.isfinite(result.contribution_c0).all()


def test_scores_of_an_average() -> None:
    draws = np.arange(FEWEST_DRAWS, dtype=float)
    found = _scored("c1", 100.0, draws)
    assert found["c1_z"] == pytest.approx((100 - 9.5) / draws.std(ddof=1))
    assert found["c1_p"] == pytest.approx(2 / 21)
    assert _scored("c1", 9.5, draws)["c1_p"] == 1
    assert _scored("c1", 1.0, draws[:-1]) == {"c1_z": None, "c1_p": None}
    assert _scored("c1", 1.0, np.ones(50)) == {"c1_z": None, "c1_p": None}


def test_grids_are_shown_before_the_null_and_a_stopped_run_goes_on(
    settings: Settings, tmp_path: Path
) -> None:
    engine = build(settings)
    labels = np.random.default_rng(2).integers(0, 5, (6, 40))
    file = tmp_path / "labels.csv"
    file.write_text(table_of(labels), "utf-8")
    fields = {"partitions": engine.known.uploads.add(file), "draws": 60}
    request = accept(METHOD, fields, engine.known)
    shown: list[PartitionResult] = []
    job = engine.runner.submit(METHOD, request)
    for state in job.events(0.01):
        if state.partial is not None:
            shown.append(state.partial)
        if state.note.startswith("shuffled sequence 21"):
            job.stop()
            break
    try:
        job.result()
    except Cancelled:
        again = engine.runner.submit(METHOD, request).result()
        assert again.counts["parts_recalled"] >= 2
    assert all(isinstance(partial, PartitionResult) for partial in shown)
    assert all(partial.draws_wanted == 60 for partial in shown)
    engine.runner.close()


def test_partial_results_come_in_order(shared: Engine) -> None:
    from backends.lab import Lab
    from backends.watch import Watch

    request = accept(METHOD, {"example": "crossing", "draws": 90}, shared.known)
    partials: list[PartitionResult] = []

    def tell(progress: Progress) -> None:
        if progress.partial is not None:
            partials.append(progress.partial)

    lab = Lab(
        METHOD,
        "0" * 64,
        shared.store,
        shared.known,
        Watch(tell=tell),
        lambda watch: None,
        shared.runner._worker,
        lambda key, fields, watch: None,
    )
    result = METHOD.compute(request, lab)
    assert [partial.draws for partial in partials] == [0, 20, 40, 80, 90]
    assert np.isnan(partials[0].null_hf1_mean).all()
    assert partials[0].hf1.tolist() == result.hf1.tolist()
    assert math.isnan(partials[-1].contribution_c1[0])
    assert np.isfinite(result.contribution_c1).all()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("1,2\n0", "Row 1"),
        ("1,1\n0,0", "1"),
        ("", "empty"),
        ("1,2\n0,nan", "nan"),
        ("\n".join([",".join(map(str, range(201))), ",".join("0" * 201)]), "201 scales"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(run: Run, table: str, sentence: str) -> None:
    with pytest.raises(BadRequest) as raised:
        run(table)
    assert raised.value.field == "partitions"
    assert sentence in str(raised.value)
    assert str(raised.value).endswith(".")


def test_an_example_and_a_file_are_one_too_many(shared: Engine) -> None:
    known: Known = shared.known
    fields = {"example": "crossing", "partitions": "sha256:" + "0" * 64}
    with pytest.raises(BadRequest, match="give one of them"):
        accept(METHOD, fields, known)
    assert accept(METHOD, {}, known).example == "noisy_coarsening"


def test_the_command_line_writes_what_was_asked_for(tmp_path: Path) -> None:
    import subprocess
    import sys

    file = tmp_path / "labels.csv"
    file.write_text("1,2,3\n0,0,0\n1,0,1\n2,1,0\n", "utf-8")
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "launch.py", "run", "mcbif", "--partitions", str(file), "--draws", "0",
         "--out", str(out), "--figures", "none"],
        cwd=Path(__file__).parents[2],
        env={"GLASSWORK_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, str(out))
    arrays = np.load(out / "result.npz")
    assert {"hf0", "hf1", "c0", "delta1"} <= set(arrays)
    assert all(not np.tril(arrays[name], -1).any() for name in ("hf0", "hf1", "c0", "delta1"))
    values = json.loads((out / "result.json").read_text("utf-8"))["values"]
    wanted = {"c0_bar", "c1_bar", "c0_bar_scale_weighted", "c1_bar_scale_weighted"}
    assert wanted | {"crossing_lower_bound", "crossing_number"} <= set(values)
