"""What the tests share: a store, the tiny model's folder, and an engine around both."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")

from app.engine import Engine
from app.settings import Settings
from cache import Store
from launch import build
from tests import tiny


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "cache")


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of model folders with the model `tiny` in it."""
    folder = tmp_path_factory.mktemp("models")
    tiny.build(folder / "tiny")
    return folder


@pytest.fixture
def settings(tmp_path: Path, model_folders: Path) -> Settings:
    """Settings of an empty home that knows the tiny model."""
    return Settings(tmp_path / "home", model_folders, 10**9, 10**9, 1, "cpu")


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    """An engine with an empty home; ended with its worker."""
    made = build(settings)
    yield made
    made.runner.close()
