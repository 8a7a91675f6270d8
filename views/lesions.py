"""What the two lesion tools share: both answers side by side, and what the form offers."""

from collections.abc import Mapping
from typing import Any

from backends.concepts.questions import read_questions
from backends.contract import Known
from views.partitions.markup import sentence, table, text

CAUTION = "Research only. Not for clinical use. No patient data."


def answers_html(result: Any) -> str:
    """Return question and both answers as HTML; where the lesioned one departs it is bold.

    `result` is that of `medical_lesion_answer`.
    """
    shared = _length(result.baseline_tokens[: result.same_tokens])
    headings = ["whole model", f"without block {result.layer} ({text(result.ablation)})"]
    row = [_cell(result.baseline_answer, None), _cell(result.lesioned_answer, shared)]
    words = sentence(f"{text(result.question)} {_agreement(result)}")
    return f"<div class='gw-details'>{words}{table(headings, [row], set(), 'Both answers')}</div>"


def _length(tokens: list[str]) -> int:
    return sum(len(token) for token in tokens)


def _cell(answer: str, shared: int | None) -> str:
    """Return an answer as HTML; what follows its first `shared` characters is bold."""
    if not answer:
        return sentence("No answer: the text ends at once.")
    if shared is None or shared >= len(answer):
        return _lines(answer)
    return f"{_lines(answer[:shared])}<strong>{_lines(answer[shared:])}</strong>"


def _lines(answer: str) -> str:
    return text(answer).replace("\n", "<br>")


def _agreement(result: Any) -> str:
    """Say up to which token both answers agree."""
    same, own, other = (
        result.same_tokens, len(result.baseline_tokens), len(result.lesioned_tokens)
    )  # fmt: skip
    measured = f"Severity {result.severity:.2f} by divergence, N = {result.n} tokens"
    if same == own == other:
        return f"Both answers are the same ({own} tokens). {measured}."
    return f"Both answers begin with the same {same} of {own} and {other} tokens. {measured}."


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Let a table take the place of a domain, and a newly chosen domain that of a table.

    Raise `BadRequest` for a table that cannot be read.
    """
    if changed == "domain" and values.get("domain"):
        return {"table": {"value": ""}}
    if not values.get("table"):
        return {}
    read_questions(known.uploads.read(values["table"], "table"))
    return {"domain": {"value": None}}
