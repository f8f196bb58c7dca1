"""``python -m fluxscale``: the same as the ``fluxscale`` command."""

from fluxscale.cli.main import run

if __name__ == "__main__":
    run()
