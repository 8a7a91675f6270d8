"""MCbiF experiments: what Hilbert functions tell a linear model that pairwise measures do not.

Classification: do all partitions of a sequence cut one order of the elements into intervals (class
0), or were elements swapped (class 1)? Regression: how many crossings has the best Sankey layout
found? Both are random sequences; see `backends/partitions/generators.py`. Linear models are fitted
on seven feature vectors, each beside the same model fitted to shuffled targets.

Source: "MCbiF: Measuring Topological Autocorrelation in Multiscale Clusterings via 2-Parameter
Persistent Homology", ICLR 2026, arXiv 2510.14710, section on feature maps; sizes here are smaller
unless the request says otherwise.
"""

from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from backends.contract import Method
from backends.errors import BadRequest
from backends.lab import Lab
from backends.math.threads import use_one_blas_thread
from backends.methods.mcbif_experiment import learning, paper
from backends.methods.mcbif_experiment.request import (
    McbifExperimentRequest,
    Plan,
    check,
    plan_of,
)
from backends.methods.mcbif_experiment.result import McbifExperimentResult
from backends.methods.mcbif_experiment.sequences import Table, all_measured

__all__ = ["METHOD", "McbifExperimentRequest", "McbifExperimentResult"]

FEATURES = ["hf0_hf1", "hf1", "hf0", "nce", "ari", "overlap", "raw"]
MEASURES = ["c0_bar", "c1_bar", "mean_vi", "mean_ari", "mean_overlap"]
RESAMPLES = 5_000
# Fewest sequences that a regression is fitted to.
FEWEST = 50
# Values of a training part above which a fit goes to the worker process, where it can be left.
LARGE = 600_000
# Steps of progress that a fit counts as; a sequence counts as one.
FIT = 50


def compute(request: McbifExperimentRequest, lab: Lab) -> McbifExperimentResult:
    """Draw the sequences, fit the models, and compare their predictions."""
    use_one_blas_thread()
    plan = plan_of(request)
    steps = plan.total + FIT * len(FEATURES) + 1
    table = all_measured(plan, lab, steps)
    is_kept = _kept(plan, table["target"])
    kept = {name: rows[is_kept] for name, rows in table.items()}
    train, test = learning.split(plan.task, kept["target"], plan.seed)
    fitted = _all_fitted(plan, lab, kept, train, test, steps)
    lab.watch.step(steps - 1, steps, "intervals")
    scored = _scored(plan, lab, kept["target"][test], fitted)
    lab.watch.step(steps, steps, "done")
    lab.note(n=plan.total, seed=plan.seed, train=len(train), test=len(test))
    return McbifExperimentResult(
        **scored,
        **_about_sequences(plan, table, is_kept, np.flatnonzero(is_kept)[test]),
        **_about_paper(plan),
        n_values=np.array([_points(table, name).shape[1] for name in FEATURES], np.int64),
        n=plan.total,
        task=plan.task,
        features=list(FEATURES),
        measures=list(MEASURES),
        n_elements=plan.elements,
        n_scales=plan.scales,
        n_train=len(train),
        n_test=len(test),
        resamples=RESAMPLES,
        shuffles=learning.SHUFFLES,
        seed=plan.seed,
    )


def _about_paper(plan: Plan) -> dict[str, Any]:
    words, is_same = paper.size(plan)
    return {
        "score_paper": paper.scores(plan, FEATURES),
        "correlation_paper": paper.correlations(plan, MEASURES),
        "paper_size": words,
        "is_paper_size": is_same,
    }


def _kept(plan: Plan, target: Int[np.ndarray, "sequence"]) -> np.ndarray:
    if plan.task == "classification":
        return np.ones(len(target), bool)
    is_kept = learning.kept_targets(target)
    if is_kept.sum() < FEWEST:
        raise BadRequest(
            "n_sequences",
            f"Only {is_kept.sum()} of {plan.total:,} sequences have crossings; "
            f"at least {FEWEST} are needed: take more sequences, scales or elements.",
        )
    return is_kept


def _points(table: Table, name: str) -> np.ndarray:
    if name == "hf0_hf1":
        return np.concatenate([table["hf0"], table["hf1"]], axis=1)
    return table[name]


def _all_fitted(
    plan: Plan, lab: Lab, kept: Table, train: np.ndarray, test: np.ndarray, steps: int
) -> Table:
    """Return the predictions of the test part, one row for each feature vector."""
    found = []
    for i, name in enumerate(FEATURES):
        lab.watch.step(plan.total + FIT * i, steps, f"fitting {name}")
        points, target = _points(kept, name), kept["target"][train]
        make = partial(_fitted, plan, lab, points[train], target, points[test])
        found.append(lab.part("fit", {"feature": name}, make))
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def _fitted(plan: Plan, lab: Lab, train: np.ndarray, target: np.ndarray, test: np.ndarray) -> Table:
    call = (plan.task, train, target, test, plan.seed)
    if train.size <= LARGE:
        return learning.predict(*call, lab.watch.check)
    future = lab.worker.submit(f"{learning.__name__}:predict", *call)
    found: Table = lab.worker.wait(future, lab.watch.check)
    return found


def _scored(plan: Plan, lab: Lab, target: Int[np.ndarray, "test"], fitted: Table) -> dict[str, Any]:
    once = np.ones((1, len(target)))
    score = learning.scores(plan.task, target, fitted["predicted"], once)[0]
    control = np.array(
        [learning.scores(plan.task, target, one, once)[0] for one in fitted["control"]]
    )
    low, high = learning.intervals(
        plan.task, target, fitted["predicted"], RESAMPLES, plan.seed, lab.watch.check
    )
    names = zip(FEATURES, fitted["is_converged"][:, 0], strict=True)
    return {
        "score": score.astype(np.float32),
        "score_low": low.astype(np.float32),
        "score_high": high.astype(np.float32),
        "score_control": control.mean(axis=1).astype(np.float32),
        "score_control_least": control.min(axis=1).astype(np.float32),
        "score_control_most": control.max(axis=1).astype(np.float32),
        "not_converged": [name for name, is_converged in names if not is_converged],
    }


def _about_sequences(
    plan: Plan, table: Table, is_kept: np.ndarray, test: np.ndarray
) -> dict[str, Any]:
    """Return the measures of all sequences, and how they go with the target."""
    target, bound = table["target"], table["crossing_bound"]
    is_regression = plan.task == "regression"
    nothing = np.full(len(MEASURES), np.nan, np.float32)
    about: dict[str, Any] = {name: table[name].astype(np.float32) for name in MEASURES}
    about |= {"target": target, "is_kept": is_kept, "crossing_bound": bound}
    about["measure_correlation"] = nothing
    about["measure_p"] = [None] * len(MEASURES)
    about["bound_violations"] = about["bound_score"] = None
    if not is_regression:
        return about | {"measure_p": [_rank_p(table[name], target) for name in MEASURES]}
    once, predicted = np.ones((1, len(test))), bound[None, test].astype(np.float64)
    score = learning.scores(plan.task, target[test], predicted, once)[0, 0]
    pairs = [_correlation(table[name][is_kept], target[is_kept]) for name in MEASURES]
    return about | {
        "measure_correlation": np.array(pairs, np.float32),
        "bound_violations": int(np.sum(target < bound)),
        "bound_score": float(score),
    }


def _rank_p(values: Float[np.ndarray, "sequence"], target: Int[np.ndarray, "sequence"]) -> float:
    """Return the two-sided p value of Mann and Whitney's test; 1 where all values are equal."""
    from scipy.stats import mannwhitneyu

    exact = values.astype(np.float64)  # The smallest float32 is 1e-45.
    if np.ptp(exact) == 0:
        return 1.0
    return float(mannwhitneyu(exact[target == 0], exact[target == 1]).pvalue)


def _correlation(values: np.ndarray, target: np.ndarray) -> float:
    if np.ptp(values) == 0 or np.ptp(target) == 0:
        return float("nan")
    return float(np.corrcoef(values.astype(np.float64), target)[0, 1])


METHOD = Method(
    "mcbif_experiment",
    1,
    McbifExperimentRequest,
    McbifExperimentResult,
    compute,
    check=check,
    example=McbifExperimentRequest(),
    small={"n_elements": 12, "step": 3, "n_sequences": 20},
    seconds=60,
)
