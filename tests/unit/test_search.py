"""From a solver's name to a plan: what runs, in which order, with which limits."""

import pytest
from flow_case import BEST, FakeSolver, found, ping_pong, plan, register

from fluxscale.errors import BackendError, InputError, UnsupportedError
from fluxscale.instance.instance import CYCLIC
from fluxscale.solving import search as module
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.search import Search, find_plan
from fluxscale.solving.status import Termination


def new_search(bound=0, news=None, instance=None, **params):
    tell = (lambda _: None) if news is None else news.append
    return Search(instance or ping_pong(), SolveParams(**params), tell, bound, "critical-path")


def heuristic(outcome=None, **capabilities):
    return FakeSolver("list", outcome or found(plan(50), BEST + 50), **capabilities)


def decomposed(outcome=None, **capabilities):
    return FakeSolver("stage-window", outcome or found(plan(20), BEST + 20), improves=True, **capabilities)


def exact(outcome=None, **capabilities):
    optimal = found(plan(), BEST, BEST, "cpsat", Termination.OPTIMAL)
    return FakeSolver("exact-cpsat", outcome or optimal, **capabilities)


def test_auto_on_a_small_instance_runs_list_then_exact(monkeypatch):
    table = register(monkeypatch, heuristic(), exact())
    search = new_search(bound=100)
    find_plan("auto", search)
    assert (search.value_ticks, search.bound_ticks, search.bound_name) == (BEST, BEST, "cpsat")
    assert search.solver == "exact-cpsat"
    asked = table["exact-cpsat"].asked[0][1]
    assert asked.warm_start.op_start_ticks[-1] == 270
    assert asked.lower_bound_ticks == 100
    assert 0 < asked.time_limit_s <= module.AUTO_EXACT_SECONDS
    assert table["list"].asked[0][1].time_limit_s is None
    assert set(search.stats) == {"list", "exact-cpsat"}


def test_auto_stops_when_list_reaches_the_bound(monkeypatch):
    table = register(monkeypatch, heuristic(found(plan())), exact())
    search = new_search(bound=BEST)
    find_plan("auto", search)
    assert search.solver == "list"
    assert not table["exact-cpsat"].asked


def test_auto_stops_at_the_gap_allowed(monkeypatch):
    table = register(monkeypatch, heuristic(found(plan())), exact())
    find_plan("auto", new_search(bound=BEST - 10, rel_gap=0.05))
    assert not table["exact-cpsat"].asked


def test_auto_on_a_large_instance_is_list_then_windows(monkeypatch):
    monkeypatch.setattr(module, "SMALL_TRANSFERS", 1)
    table = register(monkeypatch, heuristic(), exact(), decomposed())
    search = new_search()
    find_plan("auto", search)
    assert (search.solver, search.value_ticks) == ("stage-window", BEST + 20)
    assert search.notes == ["auto: list, then stage-window"]
    assert not table["exact-cpsat"].asked
    assert table["stage-window"].asked[0][1].warm_start.op_start_ticks[-1] == 270


def test_auto_tries_a_proof_on_a_larger_instance_whose_gap_is_small(monkeypatch):
    monkeypatch.setattr(module, "SMALL_TRANSFERS", 1)
    table = register(monkeypatch, heuristic(found(plan())), exact(), decomposed())
    search = new_search(bound=BEST - 1)
    find_plan("auto", search)
    assert (search.solver, search.bound_ticks) == ("exact-cpsat", BEST)
    assert 0 < table["exact-cpsat"].asked[0][1].time_limit_s <= module.AUTO_NEAR_SECONDS
    assert not table["stage-window"].asked


def test_the_executor_reaches_those_that_have_sub_solves(monkeypatch):
    table = register(monkeypatch, heuristic(), exact(), decomposed(executors=("serial", "process")))
    monkeypatch.setattr(module, "SMALL_TRANSFERS", 1)
    find_plan("auto", new_search(executor="process"))
    assert [table[name].asked[0][1].executor for name in ("list", "stage-window")] == ["serial", "process"]
    with pytest.raises(UnsupportedError, match="list has no sub-solves to run there"):
        find_plan("list", new_search(executor="process"))


def test_auto_keeps_the_better_plan(monkeypatch):
    late = found(plan(9), BEST + 9, None, None, Termination.TIME_LIMIT)
    register(monkeypatch, heuristic(found(plan())), exact(found(plan(5), BEST + 5)), decomposed(late))
    search = new_search(bound=1)
    find_plan("auto", search)
    assert search.value_ticks == BEST
    assert search.termination is Termination.TIME_LIMIT


def test_auto_shares_the_time_limit(monkeypatch):
    table = register(monkeypatch, heuristic(), exact())
    find_plan("auto", new_search(time_limit_s=5.0))
    assert table["list"].asked[0][1].time_limit_s <= 5.0
    assert table["exact-cpsat"].asked[0][1].time_limit_s <= 5.0


def test_a_work_limit_leaves_the_clock_out(monkeypatch):
    table = register(monkeypatch, heuristic(work_limit_unit="ops"), exact())
    find_plan("auto", new_search(work_limit=10))
    assert table["list"].asked[0][1].work_limit == 10
    asked = table["exact-cpsat"].asked[0][1]
    assert (asked.work_limit, asked.time_limit_s) == (None, None)


def test_auto_lives_with_an_exact_solver_that_refuses(monkeypatch):
    table = register(monkeypatch, heuristic(work_limit_unit="ops"), exact(UnsupportedError("too many orders are free")))
    search = new_search(bound=1)
    find_plan("auto", search)
    assert [params.work_limit for _, params in table["list"].asked] == [module.QUICK_WORK]
    assert search.solver == "stage-window"
    assert search.termination is Termination.FINISHED
    assert search.notes == ["no exact-cpsat: too many orders are free.", "auto: list, then stage-window"]


def test_auto_does_not_hide_bad_input(monkeypatch):
    register(monkeypatch, heuristic(), exact(InputError("bad")))
    with pytest.raises(InputError, match="bad"):
        find_plan("auto", new_search())


def test_auto_lives_without_the_exact_back_end(monkeypatch):
    table = register(monkeypatch, heuristic())
    table["exact-cpsat"] = BackendError("gone")
    search = new_search()
    find_plan("auto", search)
    assert search.value_ticks == BEST + 50
    assert search.notes == ["no exact-cpsat: gone", "auto: list, then stage-window"]


def test_auto_goes_round_a_heuristic_that_cannot(monkeypatch):
    table = register(monkeypatch, heuristic(cyclic=False), exact())
    search = new_search(instance=ping_pong(boundary=CYCLIC), bound=BEST)
    find_plan("auto", search)
    assert search.solver == "exact-cpsat"
    assert not table["list"].asked


def test_auto_refuses_what_nobody_can(monkeypatch):
    register(monkeypatch, heuristic(cyclic=False), exact(cyclic=False), decomposed(cyclic=False))
    with pytest.raises(UnsupportedError, match="list: cannot honour a cyclic boundary"):
        find_plan("auto", new_search(instance=ping_pong(boundary=CYCLIC)))


def test_an_exact_solver_by_name_starts_from_the_list_plan(monkeypatch):
    table = register(
        monkeypatch, heuristic(work_limit_unit="ops"), exact(work_limit_unit="nodes", options=("backend",))
    )
    search = new_search(bound=5, work_limit=7, options={"backend": "scip"})
    find_plan("exact-cpsat", search)
    first, second = table["list"].asked[0][1], table["exact-cpsat"].asked[0][1]
    assert (first.work_limit, first.options) == (None, {})
    assert (second.work_limit, second.options) == (7, {"backend": "scip"})
    assert second.warm_start is not None
    assert search.solver == "exact-cpsat"


def test_nothing_is_searched_once_the_warm_start_is_optimal(monkeypatch):
    table = register(monkeypatch, heuristic(found(plan())), exact())
    search = new_search(bound=BEST)
    find_plan("exact-cpsat", search)
    assert search.solver == "exact-cpsat"
    assert not table["exact-cpsat"].asked


def test_no_warm_start_is_a_note(monkeypatch):
    table = register(monkeypatch, heuristic(cyclic=False), exact())
    search = new_search(instance=ping_pong(boundary=CYCLIC))
    find_plan("exact-cpsat", search)
    assert search.notes == ["no warm start: list cannot honour a cyclic boundary"]
    table["list"] = BackendError("gone")
    search = new_search()
    find_plan("exact-cpsat", search)
    assert search.notes == ["no warm start: gone"]


def test_a_third_party_solver_runs_alone(monkeypatch):
    table = register(monkeypatch, heuristic(), FakeSolver("mine"))
    search = new_search()
    find_plan("mine", search)
    assert (search.solver, search.value_ticks) == ("mine", BEST)
    assert not table["list"].asked


@pytest.mark.parametrize(
    ("feature", "changes", "words"),
    [
        ("all_stop", {"plane_all_stop": [True]}, "all-stop planes"),
        ("duplex", {"plane_duplex": [True]}, "duplex planes"),
        ("cyclic", {"boundary": CYCLIC}, "a cyclic boundary"),
        ("gangs", {"op_kind": [0, 2, 0, 1, 0]}, "gangs"),
    ],
)
def test_capabilities_are_asked_before(monkeypatch, feature, changes, words):
    table = register(monkeypatch, FakeSolver("mine", **{feature: False}))
    with pytest.raises(UnsupportedError, match=f"mine: cannot honour {words}"):
        find_plan("mine", new_search(instance=ping_pong(**changes)))
    assert not table["mine"].asked


def test_more_than_one_plane_is_a_capability(monkeypatch):
    two = dict.fromkeys(("plane_rate_bps", "injection_rate_bps"), [10**9] * 2)
    two |= {key: [0, 0] for key in ("plane_latency_ticks", "plane_delay_ticks", "plane_radix")}
    two |= {"plane_all_stop": [False] * 2, "plane_duplex": [False] * 2, "attach": [[0, 0], [0, 0]]}
    register(monkeypatch, FakeSolver("mine", planes=False))
    with pytest.raises(UnsupportedError, match="more than one plane"):
        find_plan("mine", new_search(instance=ping_pong(**two)))


def test_unknown_options_are_refused_with_the_near_one(monkeypatch):
    register(monkeypatch, FakeSolver("mine", options=("rounds",)))
    with pytest.raises(InputError, match=r"solver.round: .*did you mean 'rounds'"):
        find_plan("mine", new_search(options={"round": 3}))
    register(monkeypatch, FakeSolver("mine"))
    with pytest.raises(InputError, match="mine has no options"):
        find_plan("mine", new_search(options={"round": 3}))


def test_a_work_limit_that_nobody_counts_is_refused(monkeypatch):
    register(monkeypatch, FakeSolver("mine"))
    with pytest.raises(UnsupportedError, match="counts no work"):
        find_plan("mine", new_search(work_limit=5))


def test_an_interrupt_inside_a_solver_keeps_the_best_so_far(monkeypatch):
    register(monkeypatch, heuristic(), exact(KeyboardInterrupt()))
    search = new_search(bound=1)
    find_plan("auto", search)
    assert search.value_ticks == BEST + 50
    assert search.termination is Termination.INTERRUPTED


def test_an_interrupted_heuristic_is_not_followed_by_anything(monkeypatch):
    table = register(monkeypatch, heuristic(found(plan(), termination=Termination.INTERRUPTED)), exact())
    for name in ("auto", "exact-cpsat"):
        search = new_search(bound=1)
        find_plan(name, search)
        assert search.termination is Termination.INTERRUPTED
    assert not table["exact-cpsat"].asked


def test_a_bound_above_a_plan_is_a_back_end_failure(monkeypatch):
    register(monkeypatch, FakeSolver("mine", found(plan(), BEST, BEST + 1)))
    with pytest.raises(BackendError, match=r"bound 311 .mine. is above"):
        find_plan("mine", new_search())


def test_a_weaker_bound_does_not_replace_a_better_one(monkeypatch):
    register(monkeypatch, FakeSolver("mine", found(plan(), BEST, 10, "weak")))
    search = new_search(bound=20)
    find_plan("mine", search)
    assert (search.bound_ticks, search.bound_name) == (20, "critical-path")


def test_progress_knows_the_best_of_all_solvers(monkeypatch):
    register(monkeypatch, heuristic(found(plan())), exact(found(plan(9), BEST + 9)))
    news = []
    find_plan("auto", new_search(bound=7, news=news))
    assert [(n.best_ticks, n.bound_ticks, n.message) for n in news] == [
        (BEST, 7, f"{name}: done") for name in ("list", "exact-cpsat", "stage-window")
    ]
    assert news[0].elapsed_s <= news[1].elapsed_s
