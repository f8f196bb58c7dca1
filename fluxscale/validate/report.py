"""ValidationReport: what the check of one schedule found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fluxscale.validate.violations import Finding, Violation


@dataclass(frozen=True)
class ValidationReport:
    """Result of a check.

    Attributes
    ----------
    violations
        The earliest violations of each code, limited in number (``check(..., max_listed=)``).
    counts
        Number of all violations by code; codes without any are absent.
    iteration_time_ticks
        Recomputed iteration time: the largest end; cyclic: the claimed period, or the larger one that is needed.
    n_checked
        Numbers of ``ops``, ``edges`` (those of devices included), ``legs`` and ``rows`` that were looked at.
    """

    violations: list[Violation]
    counts: dict[str, int]
    iteration_time_ticks: int
    n_checked: dict[str, int]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.counts

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "ok": self.ok,
            "iteration_time_ticks": self.iteration_time_ticks,
            "counts": dict(self.counts),
            "violations": [violation.to_dict() for violation in self.violations],
            "n_checked": dict(self.n_checked),
        }


def make_report(
    findings: Sequence[Finding], iteration_time_ticks: int, n_checked: dict[str, int], max_listed: int
) -> ValidationReport:
    """Count all violations and list some, so that no code crowds out the others.

    Parameters
    ----------
    findings
        From all checks; empty ones may be among them.
    iteration_time_ticks, n_checked
        As in the report.
    max_listed
        Most violations to list in all.
    """
    found = [finding for finding in findings if len(finding.time)]
    counts: Counter[str] = Counter()
    listed: list[Violation] = []
    by_size = sorted(found, key=lambda finding: len(finding.time))
    for position, finding in enumerate(by_size):
        counts[finding.code] += len(finding.time)
        share = (max_listed - len(listed)) // (len(by_size) - position)
        listed += finding.violations(share)
    listed.sort(key=lambda violation: (violation.code, violation.time_ticks))
    return ValidationReport(listed, dict(sorted(counts.items())), iteration_time_ticks, n_checked)
