"""A NIC buffer that no plan can avoid: what ops that are released at one instant hand to the ports of one endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds.releases import same_release
from fluxscale.errors import InfeasibleError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.schedule.handover import MILLIBITS, handing_rates, sending_rates

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class BufferFloor:
    """Bytes that some transmit port of an endpoint buffers in every plan (eager hand-over).

    Attributes
    ----------
    bytes
        The floor; 0 without any.
    endpoint
        Whose port, -1 without any.
    planes
        The planes between which its transfers may choose: one of its ports on them holds that much.
    op
        A transfer of the group that proves it, -1 without any.
    transfers
        How many legs the group has.
    """

    bytes: int = 0
    endpoint: int = -1
    planes: tuple[int, ...] = ()
    op: int = -1
    transfers: int = 0


def buffer_floor(instance: Instance) -> BufferFloor:
    """Least peak of the eager NIC buffer over all plans: a bound, not always reached.

    Take legs G of one transmit endpoint whose ops have the same predecessors, or none at all. In every plan they are
    released at the same time x (the end of the last of those predecessors, or 0). Let U be all planes that any of them
    may use, and t >= 0 ticks.

    * Handed over by x + t: leg k on plane p has handed over min(a_kp, h_p t), a its amount and h the hand-over rate.
      With a_k and h the least over U, that is at least min(a_k, h t).
    * Sent by x + t: the legs on one port run one after another, and an op lasts at least amount / line rate (legs whose
      given duration is shorter are left out of G). So a port has sent at most l_p max(0, t - d_p) of them, where d_p is
      the plane's delay if x = 0 and the ports begin dark, else 0. l_p is the line rate rounded up to whole Mbit/s,
      because durations follow the exact rate and buffers the rounded one.
    * So the ports of U hold at least F(t) = sum over G of min(a_k, h t) - sum over U of l_p max(0, t - d_p) together,
      and one of them at least F(t) / |U|, rounded up.

    F is tried at t = ceil(a_k / h) for each k, where legs of amounts above a_k are counted with a_k, and at the delays.
    With hand-over at line rate and one plane, F(ceil(a_k / h)) says: two transfers released at once to one port buffer
    the shorter one.

    Parameters
    ----------
    instance
        The problem.

    Returns
    -------
    BufferFloor
        The largest one found.
    """
    if not instance.n_legs:
        return BufferFloor()
    derived = derive(instance)
    class_of_op = same_release(instance)
    legs, amount, masks = _usable_legs(instance)
    if not len(legs):
        return BufferFloor()
    release = class_of_op[derived.leg_op[legs]]
    keep = _worth_a_look(instance, release, instance.leg_tx[legs])
    legs, amount, masks, release = legs[keep], amount[keep], masks[keep], release[keep]
    if not len(legs):
        return BufferFloor()
    keys = np.stack([release, instance.leg_tx[legs].astype(np.int64)], axis=1)
    best = _best_group(instance, legs, amount, masks, keys, release)
    # Legs that may use fewer planes than others of their group say more when they are alone.
    by_planes = _best_group(instance, legs, amount, masks, np.column_stack([keys, masks]), release)
    return by_planes if by_planes.bytes > best.bytes else best


def require_buffer(instance: Instance) -> None:
    """Refuse a buffer limit that no plan can keep.

    Parameters
    ----------
    instance
        The problem.

    Raises
    ------
    InfeasibleError
        If :func:`buffer_floor` is above the limit; names the port, the bytes, the limit and a transfer.
    """
    limit = instance.nic_buffer_bytes
    if not limit:
        return
    floor = buffer_floor(instance)
    if floor.bytes <= limit:
        return
    names = instance.names
    planes = " or ".join(names.plane(p) for p in floor.planes)
    others = "alone" if floor.transfers == 1 else "and others released with it"
    raise InfeasibleError(
        f"nic_buffer: the transmit port of {names.endpoint(floor.endpoint)} on {planes} has to buffer {floor.bytes} "
        f"bytes in every schedule, more than the limit of {limit}: {names.op(floor.op)} {others} "
        f"({floor.transfers} in all) hand over faster "
        f"than the port can send. Maybe: set fabric.nic_buffer to {floor.bytes} bytes or more, or 0 for no limit."
    )


def _worth_a_look(instance: Instance, release: Ints, endpoint: Ints) -> Ints:
    """Legs that are not alone at their endpoint and release, begin in the dark, or are handed over too fast."""
    if handing_rates(instance).max() > _rounded_up(instance).min():
        return np.ones(len(release), dtype=bool)
    key = release * instance.n_endpoints + endpoint
    order = np.argsort(key)
    same = key[order[1:]] == key[order[:-1]]
    keep = np.zeros(len(key), dtype=bool)
    keep[order[1:][same]] = keep[order[:-1][same]] = True
    return keep | (release == 0)


def _usable_legs(instance: Instance) -> tuple[Ints, Ints, Ints]:
    """Legs that last as long as they send, their least amount in millibits, their planes as a number of bits."""
    derived = derive(instance)
    indptr, planes = derived.leg_plane_indptr, derived.leg_planes
    counts = np.diff(indptr)
    has_plane = counts > 0
    op = derived.leg_op
    given = instance.op_fixed_ticks[op] >= 0
    ticks, size = instance.op_fixed_ticks[op], instance.op_bytes[op]
    slowest, fastest = sending_rates(instance), _rounded_up(instance)
    first = indptr[:-1][has_plane]
    amount = np.zeros(instance.n_legs, dtype=np.int64)
    longest = np.zeros(instance.n_legs, dtype=np.int64)
    masks = np.zeros(instance.n_legs, dtype=np.int64)
    if len(first):
        amount[has_plane] = np.minimum.reduceat(slowest[planes], first)
        longest[has_plane] = np.minimum.reduceat(fastest[planes], first)
        bit = np.left_shift(np.int64(1), np.minimum(planes, 62).astype(np.int64))
        masks[has_plane] = np.bitwise_or.reduceat(bit, first)
    by_time = given & (size == 0)
    rough = np.where(by_time, ticks * amount.astype(np.float64), size * float(MILLIBITS))
    fits = has_plane & (rough < 2.0**60) & (instance.n_planes <= 62)
    amount = np.where(by_time, np.where(fits, ticks, 0) * amount, np.where(fits, size, 0) * MILLIBITS)
    with_both = given & (size > 0)
    fits &= ~with_both | (np.where(with_both, ticks, 0) * longest.astype(np.float64) >= rough * (1 + 1e-9))
    legs = np.flatnonzero(fits & (amount > 0))
    return legs, amount[legs], masks[legs]


def _rounded_up(instance: Instance) -> Ints:
    return np.maximum(-(-instance.plane_rate_bps // 10**6), 1) * instance.tick_ns


def _best_group(instance: Instance, legs: Ints, amount: Ints, masks: Ints, keys: Ints, release: Ints) -> BufferFloor:
    """The largest floor over groups of legs with equal keys."""
    order = np.lexsort((amount, *keys.T[::-1]))
    legs, amount, masks, keys, release = legs[order], amount[order], masks[order], keys[order], release[order]
    first = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])
    sizes = np.diff(np.r_[first, len(legs)])
    group = np.repeat(np.arange(len(first)), sizes)
    union = np.bitwise_or.reduceat(masks, first)
    bits = (union[:, None] >> np.arange(instance.n_planes)) & 1 > 0
    handing = np.where(bits, handing_rates(instance), np.iinfo(np.int64).max).min(axis=1)
    dark = np.where((release[first] == 0) & (instance.boundary == DARK), 1, 0)[:, None] * instance.plane_delay_ticks

    up_to = np.cumsum(amount)
    before = (up_to - amount)[first]
    rank = np.arange(len(legs)) - first[group]
    ticks = -(-amount // handing[group])
    # Sums of groups beyond 2**62 are left out below, by their rough size.
    total = up_to - before[group] + amount * (sizes[group] - 1 - rank)
    value = total - _sent(bits, dark, _rounded_up(instance), group, ticks)
    for delay in np.unique(instance.plane_delay_ticks).tolist():
        at = np.full(len(legs), delay, dtype=np.int64)
        handed = np.minimum(amount, np.minimum(handing[group], 2**62 // max(1, delay)) * delay)
        sums = np.add.reduceat(handed, first)[group]
        value = np.maximum(value, sums - _sent(bits, dark, _rounded_up(instance), group, at))
    rough = np.add.reduceat(amount.astype(np.float64), first)[group]
    value[rough >= 2.0**61] = 0
    n_planes = bits.sum(axis=1)[group]
    held = -(-np.maximum(value, 0) // (n_planes * MILLIBITS))
    k = int(held.argmax())
    if held[k] <= 0:
        return BufferFloor()
    planes = tuple(np.flatnonzero(bits[group[k]]).tolist())
    op = int(derive(instance).leg_op[legs[first[group[k]]]])
    return BufferFloor(int(held[k]), int(instance.leg_tx[legs[k]]), planes, op, int(sizes[group[k]]))


def _sent(bits: Ints, dark: Ints, sending: Ints, group: Ints, ticks: Ints) -> Ints:
    """Most that the planes of each leg's group have sent after some ticks (2**62 where it is more)."""
    sent = np.zeros(len(group), dtype=np.int64)
    for p in range(bits.shape[1]):
        time = np.maximum(0, ticks - dark[group, p])
        part = np.where(time > 2**62 // sending[p], 2**62, np.minimum(time, 2**62 // sending[p]) * sending[p])
        sent += np.where(bits[group, p], np.minimum(part, 2**62 - sent), 0)
    return sent
