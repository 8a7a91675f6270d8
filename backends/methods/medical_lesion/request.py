"""What is asked of the lesions of a model's blocks."""

from pydantic import Field

from backends.concepts.questions import MOST_QUESTIONS
from backends.contract import Known
from backends.judges import judge_named
from backends.lesions import LesionRequest, questions_of


class MedicalLesionRequest(LesionRequest):
    """Which questions, which lesion, and who judges."""

    n_questions: int = Field(
        8, ge=1, le=MOST_QUESTIONS, description="Questions at most, the first of the set"
    )
    judge: str = Field("divergence", max_length=60, description="Who scores the severity")


def check(request: MedicalLesionRequest, known: Known) -> None:
    """Refuse an unknown model, a table that cannot be used, and an unknown judge."""
    known.catalog.get(request.model)
    questions_of(request, known)
    judge_named(request.judge)
