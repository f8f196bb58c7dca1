"""Settings and fixtures for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so deadlines would fail by chance. FLUXSCALE_CI: the same examples every time.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") or os.environ.get("FLUXSCALE_CI") else "local")


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same output everywhere: no colours, and a width that wraps nothing."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
