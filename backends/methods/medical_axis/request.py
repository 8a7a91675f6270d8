"""What the joined axis is asked for: domains, models, and how much of each technique."""

from typing import Literal

from pydantic import Field, field_validator

from backends.concepts.medical import Template
from backends.contract import Known, ModelRequest

DOMAINS = ("age", "symptom", "disease", "progression", "drug", "dosage")
ALL = ",".join(DOMAINS)
MOST_MODELS = 6

# What `quick` takes instead of the fields.
QUICK_PROMPTS = 6
QUICK_QUESTIONS = 3


class MedicalAxisRequest(ModelRequest):
    """Which domains of which models."""

    domains: str = Field(ALL, max_length=200, description="Domains, joined by commas")
    models: str = Field(
        "", max_length=1_000, description="Models side by side, joined by commas; empty: model"
    )
    template: Template = Field("A", description="Wording of the built-in prompts")
    projection: Literal["umap", "pca"] = Field("umap", description="Projection of the geometry")
    saliency: Literal["raw", "contrast"] = Field(
        "raw", description="Saliency curve: as it is, or divided by that of neutral prompts"
    )
    n_prompts: int = Field(20, ge=3, le=1_000, description="Prompts of the saliency")
    n_questions: int = Field(8, ge=3, le=64, description="Questions of the lesion")
    stability: bool = Field(
        True, description="Repeat geometry and saliency with other templates and seeds"
    )
    quick: bool = Field(
        False,
        description=f"{QUICK_PROMPTS} prompts, {QUICK_QUESTIONS} questions, PCA, no stability",
    )
    seed: int = Field(0, ge=0, le=2**31 - 3, description="Seed")

    @field_validator("domains")
    @classmethod
    def _known_domains(cls, text: str) -> str:
        named = [part.strip() for part in text.split(",") if part.strip()]
        if not named:
            raise ValueError(f"no domain was given; there are {ALL}")
        for name in named:
            if name not in DOMAINS:
                raise ValueError(f"{name[:40]!r} is no domain; there are {ALL}")
        return ",".join(domain for domain in DOMAINS if domain in named)

    @field_validator("models")
    @classmethod
    def _few_models(cls, text: str) -> str:
        named = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
        if len(named) > MOST_MODELS:
            raise ValueError(f"{len(named)} models were given; at most {MOST_MODELS} are allowed")
        return ",".join(named)

    @property
    def domain_list(self) -> list[str]:
        """The domains in the order of the paper."""
        return self.domains.split(",")

    @property
    def model_list(self) -> list[str]:
        """The models side by side; the first one's curves are drawn."""
        return self.models.split(",") if self.models else [self.model]


def check(request: MedicalAxisRequest, known: Known) -> None:
    """Refuse models that are not here."""
    for model in request.model_list:
        known.catalog.get(model)
