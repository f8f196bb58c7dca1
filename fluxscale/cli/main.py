"""The ``fluxscale`` command: one module a verb, loaded lazily inside; errors are one line and an exit code."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from fluxscale._version import __version__
from fluxscale.cli import check, compare, doctor, presets, replay, schema, solve, sweep
from fluxscale.errors import FluxscaleError

EXIT_USAGE, EXIT_BROKEN, EXIT_INTERRUPTED = 2, 6, 130
DEBUG = "FLUXSCALE_DEBUG"

app = typer.Typer(
    name="fluxscale",
    help="Circuit schedules for LLM training on optical circuit switches, with a proven gap.",
    epilog=(
        "Exit codes: 0 done, 2 bad usage or bad input, 3 proven infeasible, 4 no schedule within the limit, "
        "5 schedule fails the check, 6 back end failed, 130 interrupted."
    ),
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Ended(Exception):
    """Carries an interrupt or a closed pipe past typer, which would answer both in its own way."""


def guarded(verb: Callable[..., None]) -> Callable[..., None]:
    """Wrap a verb so that its interrupts and closed pipes reach :func:`run`.

    Parameters
    ----------
    verb
        Function of a sub-command.
    """

    @functools.wraps(verb)
    def call(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
            sys.stdout.flush()
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise Ended from error

    return call


for _name, _verb in (
    ("solve", solve.solve),
    ("compare", compare.compare),
    ("sweep", sweep.sweep),
    ("check", check.check),
    ("replay", replay.replay),
    ("presets", presets.presets),
    ("schema", schema.schema),
    ("doctor", doctor.doctor),
):
    app.command(_name)(guarded(_verb))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fluxscale {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _begin(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        with contextlib.redirect_stdout(sys.stderr):
            typer.echo(context.get_help())
        raise typer.Exit(EXIT_USAGE)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments
        Arguments; None: those of the process.
    """
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        code: Any = typer.main.get_command(app).main(args=arguments, prog_name="fluxscale", standalone_mode=False)
    except FluxscaleError as error:
        return _fail(error, error.exit_code, str(error))
    except Ended as ended:
        if isinstance(ended.__cause__, BrokenPipeError):
            # The reader (head, a pager) has had enough; Python must not complain when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return _fail(ended, EXIT_INTERRUPTED, "interrupted")
    except MemoryError as error:
        return _fail(error, EXIT_BROKEN, "out of memory. Maybe: a smaller job, or --symmetry auto.")
    except Exception as error:
        # Typer carries its own copy of click in some versions, so usage errors are known by what they can do.
        message = getattr(error, "format_message", None)
        if message is not None:
            return _fail(error, EXIT_USAGE, _usage(str(message()), sys.argv[1:] if arguments is None else arguments))
        text = f"unexpected {type(error).__name__}: {error}. Maybe: report it; set {DEBUG}=1 for the traceback."
        return _fail(error, EXIT_BROKEN, text)
    return code if isinstance(code, int) else 0


def _usage(message: str, arguments: list[str]) -> str:
    """One line for a usage error; a refused value is named, which typer's own message leaves out for numbers."""
    message = message.rstrip(".?! ")
    option = re.search(r"Invalid value for '(?:-\w / )?(--[\w-]+)'", message)
    if option is not None:
        given = [
            argument.partition("=")[2] or following
            for argument, following in itertools.zip_longest(arguments, arguments[1:], fillvalue="")
            if argument.partition("=")[0] == option.group(1)
        ]
        if given and given[-1] not in message:
            message += f" (got {given[-1][:80]!r})"
    message, near, guess = message.partition(" Did you mean ")
    hint = f"did you mean {guess}?" if near else "see fluxscale --help."
    return f"{message.rstrip('.')}. Maybe: {hint}"


def _fail(error: BaseException, code: int, message: str) -> int:
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    line = " ".join(message.split())
    print(f"fluxscale: error: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    run()
