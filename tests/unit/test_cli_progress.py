import io
import time

import pytest

from fluxscale.cli import progress as module
from fluxscale.cli.progress import Reporter
from fluxscale.solving.protocol import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def news(best=None, bound=None, message="working"):
    return Progress(0.1, best, bound, message)


def lines(stream):
    return stream.getvalue().splitlines()


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Reporter(stream=stream) as reporter:
        reporter.stage("building")
        reporter(news(2_000_000, 1_000_000, "rule a"))
    first, second = lines(stream)
    assert first.endswith("s] building")
    assert second.endswith("best 2 ms  bound 1 ms  gap 50.00 %  rule a")
    assert "\r" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_one_line_per_improvement_and_no_repeats():
    stream = io.StringIO()
    with Reporter(stream=stream) as reporter:
        for best in (5, 5, 4, 4, 4):
            reporter(news(best))
    assert len(lines(stream)) == 2


def test_a_sign_of_life_when_nothing_happens(monkeypatch):
    monkeypatch.setattr(module, "PLAIN_SECONDS", 0.1)
    stream = io.StringIO()
    with Reporter(stream=stream) as reporter:
        reporter.stage("building")
        time.sleep(0.5)
    assert len(lines(stream)) >= 3
    assert all(line.endswith("building") for line in lines(stream))


def test_quiet_says_nothing(monkeypatch):
    monkeypatch.setattr(module, "PLAIN_SECONDS", 0.02)
    stream = io.StringIO()
    with Reporter(quiet=True, stream=stream) as reporter:
        reporter.stage("building")
        reporter(news(5))
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_ticks_are_turned_into_time():
    stream = io.StringIO()
    with Reporter(stream=stream) as reporter:
        reporter.time_unit(1000)
        reporter(news(5))
    assert "best 5 us" in stream.getvalue()


def test_nothing_known_yet_shows_the_message_alone():
    stream = io.StringIO()
    with Reporter(stream=stream) as reporter:
        reporter(news(message="looking"))
        reporter(news(0, 0, "empty"))
    assert lines(stream)[0].endswith("s] looking")
    assert "gap" not in stream.getvalue()


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Reporter(stream=stream) as reporter:
        reporter.stage("building")
    assert lines(stream)[0].endswith("building")


def test_a_live_line_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Reporter(stream=stream) as reporter:
        reporter(news(2_000_000, 1_000_000, "rule [red]a[/red]"))
        time.sleep(0.3)
    assert "best 2 ms" in stream.getvalue()
    assert "[red]" in stream.getvalue()


def test_no_colour_when_asked(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with Reporter(stream=stream) as reporter:
        reporter.stage("building")
        time.sleep(0.3)
    assert "\x1b[3" not in stream.getvalue()


def test_a_reader_that_has_gone_does_not_end_the_solve():
    stream = io.StringIO()
    with Reporter(stream=stream) as reporter:
        stream.close()
        reporter(news(5))
        reporter(news(4))


def test_it_stops_when_the_solve_fails():
    reporter = Reporter(stream=io.StringIO())
    with pytest.raises(RuntimeError), reporter:
        raise RuntimeError
    assert not reporter._ticker.is_alive()
