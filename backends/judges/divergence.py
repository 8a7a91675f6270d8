"""The built-in judge: the severity of the divergence along the answer of the whole model."""

from backends.judges import Judge
from backends.math.severity import severity


def _score(question: str, answer: str, lesioned: str, divergence: float) -> float:
    return severity(divergence)


JUDGE = Judge("divergence", _score)
