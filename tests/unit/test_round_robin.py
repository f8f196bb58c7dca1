"""Fixed matchings of rotors: matchings, every pair once, and the closed forms of where a pair is."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.matchings.round_robin import one_way, position_one_way, position_two_way, two_way

SIZES = [2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 127, 128]


def test_four_ports_by_hand():
    assert one_way(4).tolist() == [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]
    assert two_way(4).tolist() == [[3, 2, 1, 0], [2, 3, 0, 1], [1, 0, 3, 2]]
    assert two_way(3).tolist() == [[-1, 2, 1], [2, -1, 0], [1, 0, -1]]


@pytest.mark.parametrize("make", [one_way, two_way])
@pytest.mark.parametrize("n", [0, 1])
def test_too_few_ports_have_no_rounds(make, n):
    assert make(n).shape == (0, n)


@pytest.mark.parametrize("n", SIZES)
def test_one_way_rounds_are_permutations_that_hold_every_pair_once(n):
    rounds = one_way(n)
    assert rounds.dtype == np.int32
    assert rounds.shape == (n - 1, n)
    assert all(sorted(row) == list(range(n)) for row in rounds.tolist())
    met = {(i, j) for row in rounds.tolist() for i, j in enumerate(row)}
    assert met == {(i, j) for i in range(n) for j in range(n) if i != j}


@pytest.mark.parametrize("n", SIZES)
def test_two_way_rounds_are_pairings_that_hold_every_pair_once(n):
    rounds = two_way(n)
    assert rounds.dtype == np.int32
    assert rounds.shape == (n if n % 2 else n - 1, n)
    met = []
    for row in rounds.tolist():
        idle = [i for i, j in enumerate(row) if j < 0]
        assert len(idle) == n % 2
        assert all(j < 0 or (j != i and row[j] == i) for i, j in enumerate(row))
        met += [(i, j) for i, j in enumerate(row) if j >= 0]
    assert len(met) == len(set(met)) == n * (n - 1)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("make", "position"), [(one_way, position_one_way), (two_way, position_two_way)])
def test_positions_are_where_the_rounds_say(n, make, position):
    a, b = (side.ravel() for side in np.indices((n, n)))
    a, b = a[a != b], b[a != b]
    where = position(np.full(len(a), n), a, b)
    assert (make(n)[where, a] == b).all()


def test_positions_of_different_sizes_at_once():
    sizes = np.array([2, 3, 4, 4, 128])
    a, b = np.array([0, 2, 3, 0, 127]), np.array([1, 0, 1, 2, 5])
    for make, position in ((one_way, position_one_way), (two_way, position_two_way)):
        where = position(sizes, a, b)
        found = [make(n)[r, i] for n, r, i in zip(sizes.tolist(), where.tolist(), a.tolist(), strict=True)]
        assert found == b.tolist()
