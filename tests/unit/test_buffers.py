"""NIC buffers worked out by hand. One byte takes one tick at line rate (8 Gbit/s)."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.simulate.buffers import Peak, peak_buffers

GBPS = 10**9


def world(legs, sizes, preds, *, rate=8 * GBPS, injection=8 * GBPS, fixed=None, latency=0, tick_ns=1, duplex=False):
    """Transfers over one plane; ops without a leg are local delays."""
    n = len(legs)
    return Instance(
        op_kind=[1 if leg else 3 for leg in legs],
        op_device=[-1] * n,
        op_bytes=sizes,
        op_fixed_ticks=fixed or [-1 if leg else 0 for leg in legs],
        pred_indptr=[0, *np.cumsum([len(row) for row in preds]).tolist()],
        pred_index=[p for row in preds for p in row],
        device_indptr=[0],
        device_ops=[],
        leg_indptr=[0, *np.cumsum([1 if leg else 0 for leg in legs]).tolist()],
        leg_tx=[leg[0] for leg in legs if leg],
        leg_rx=[leg[1] for leg in legs if leg],
        plane_rate_bps=[rate],
        plane_latency_ticks=[latency],
        plane_delay_ticks=[0],
        plane_radix=[0],
        plane_all_stop=[False],
        plane_duplex=[duplex],
        attach=np.zeros((1, 3)),
        injection_rate_bps=[injection],
        tick_ns=tick_ns,
    )


def measure(instance, start, end):
    planes = np.zeros(instance.n_legs, dtype=np.int16)
    return peak_buffers(instance, np.array(start), np.array(end), planes)


def test_a_transfer_that_starts_at_its_release_is_never_buffered():
    found = measure(world([(0, 1)], [100], [[]]), [0], [100])
    assert found.eager == found.paced == Peak(0, -1, -1, 0)
    assert found.eager_port_bytes.tolist() == [[0, 0, 0]]


def test_a_late_circuit_buffers_what_was_handed_over_meanwhile():
    instance = world([(0, 1)], [100], [[]])
    assert measure(instance, [30], [130]).eager == Peak(30, 0, 0, 30)
    assert measure(instance, [500], [600]).eager == Peak(100, 0, 0, 100)
    assert measure(instance, [500], [600]).paced_bytes == 0


def test_release_is_the_end_of_the_last_predecessor():
    instance = world([None, None, (2, 1)], [0, 0, 100], [[], [], [0, 1]])
    assert measure(instance, [0, 0, 90], [20, 50, 190]).eager == Peak(40, 0, 2, 90)


def test_transfers_are_handed_over_on_their_own_and_add_up():
    instance = world([(0, 1)] * 3, [100] * 3, [[]] * 3)
    # At tick 100 all 300 bytes are in the NIC but the 100 that the first has sent.
    assert measure(instance, [0, 100, 200], [100, 200, 300]).eager == Peak(200, 0, 0, 100)


def test_fast_injection_fills_the_buffer_of_a_paced_transfer():
    instance = world([(0, 1)], [100], [[]], injection=16 * GBPS)
    assert measure(instance, [40], [140]).paced == Peak(50, 0, 0, 90)
    assert measure(instance, [40], [140]).eager == Peak(90, 0, 0, 50)
    assert measure(instance, [400], [500]).eager == Peak(100, 0, 0, 50)


def test_slow_injection_is_sent_as_it_comes():
    instance = world([(0, 1)], [100], [[]], injection=4 * GBPS)
    assert measure(instance, [0], [100]).eager_bytes == 0
    # 20 bytes wait at tick 40; sending at twice the pace has caught up at tick 80.
    assert measure(instance, [40], [140]).eager == Peak(20, 0, 0, 40)


def test_latency_comes_after_sending():
    found = measure(world([(0, 1)], [100], [[]], latency=1000), [0], [1100])
    assert (found.eager_bytes, found.paced_bytes) == (0, 0)


def test_ports_are_apart():
    instance = world([(0, 1), (1, 0)], [100, 60], [[], []], duplex=True)
    found = measure(instance, [200, 200], [300, 260])
    assert found.eager_port_bytes.tolist() == [[100, 60, 0]]


def test_a_given_duration_without_bytes_counts_as_line_rate():
    instance = world([(0, 1)], [0], [[]], fixed=[250])
    assert measure(instance, [1000], [1250]).eager == Peak(250, 0, 0, 250)


def test_parts_of_a_byte_are_rounded_up():
    instance = world([(0, 1)], [100], [[]], rate=1 * GBPS, injection=1 * GBPS)
    assert measure(instance, [9], [809]).eager == Peak(2, 0, 0, 9)


def test_ticks_longer_than_a_nanosecond():
    instance = world([(0, 1)], [100], [[]], tick_ns=10)
    assert measure(instance, [3], [13]).eager == Peak(30, 0, 0, 3)


def test_large_sizes_are_exact():
    size = 2**40
    instance = world([(0, 1)] * 4, [size] * 4, [[]] * 4)
    found = measure(instance, [k * size for k in range(4)], [(k + 1) * size for k in range(4)])
    assert found.eager == Peak(3 * size, 0, 0, size)
    assert found.paced_bytes == 0


def test_what_does_not_fit_64_bits_is_refused():
    instance = world([(0, 1)] * 2, [2**50] * 2, [[]] * 2)
    with pytest.raises(InputError, match="ep0 sends more than"):
        measure(instance, [0, 2**50], [2**50, 2**51])


def test_nothing_to_send():
    assert measure(world([None], [0], [[]]), [0], [5]).eager_bytes == 0
    assert measure(world([], [], []), [], []).paced_bytes == 0
