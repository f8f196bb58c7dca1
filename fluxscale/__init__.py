"""fluxscale: circuit schedules for LLM training on optical circuit switches."""

from fluxscale._version import __version__

__all__ = ["__version__"]
