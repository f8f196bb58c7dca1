"""Colour refinement: ops and endpoints that nothing tells apart end in one class."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel

A, B, C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
PRED, SUCC, BEFORE, AFTER = np.uint64(1 << 40), np.uint64(2 << 40), np.uint64(3 << 40), np.uint64(4 << 40)
LEG, SENDS, RECEIVES = np.uint64(5 << 40), np.uint64(6 << 40), np.uint64(7 << 40)


@kernel
def mix(x):  # numpydoc ignore=PR01
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = x + A
    x = (x ^ (x >> S30)) * B
    x = (x ^ (x >> S27)) * C
    return x ^ (x >> S31)


@kernel
def seed_colours(
    op_kind, op_bytes, op_fixed, leg_indptr, leg_tx, leg_rx, device_indptr, device_ops, attach, plane_seed
):  # numpydoc ignore=PR01
    """First colours: what an op or endpoint is by itself.

    An op: kind, bytes, fixed duration, number of legs, place in its device's order, that device's sequence of ops, and
    for each leg the planes that it may use, as positions in its endpoints' lists of planes. An endpoint: its list of
    planes by their parameters (``plane_seed``, uint64 ``[P]``), so planes that one endpoint can choose between stay
    apart while rails fall together.

    Returns
    -------
    op_hash, endpoint_hash
        uint64 ``[n]`` and ``[E]``.
    """
    n_planes, n_endpoints = attach.shape
    slot = np.empty((n_planes, n_endpoints), dtype=np.uint64)
    endpoint_hash = np.zeros(n_endpoints, dtype=np.uint64)
    for e in range(n_endpoints):
        k = np.uint64(0)
        for p in range(n_planes):
            slot[p, e] = k
            if attach[p, e] >= 0:
                k += np.uint64(1)
                endpoint_hash[e] = mix(endpoint_hash[e] ^ plane_seed[p])
    n = len(op_kind)
    op_hash = np.empty(n, dtype=np.uint64)
    for op in range(n):
        h = mix(np.uint64(op_kind[op]))
        h = mix(h ^ np.uint64(op_bytes[op]))
        op_hash[op] = mix(h ^ np.uint64(op_fixed[op]))
    for d in range(len(device_indptr) - 1):
        sequence = np.uint64(0)
        for at in range(device_indptr[d], device_indptr[d + 1]):
            sequence = mix(sequence ^ op_hash[device_ops[at]])
        for at in range(device_indptr[d], device_indptr[d + 1]):
            op_hash[device_ops[at]] += mix(sequence + np.uint64(at - device_indptr[d]))
    for op in range(n):
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            h = LEG
            tx, rx = leg_tx[leg], leg_rx[leg]
            for p in range(n_planes):
                if attach[p, tx] >= 0 and attach[p, tx] == attach[p, rx]:
                    h = mix(h ^ (slot[p, tx] << S32) ^ slot[p, rx])
            op_hash[op] += mix(h)
    return op_hash, endpoint_hash


@kernel
def relabel(hashes, limit):  # numpydoc ignore=PR01
    """Number equal hashes alike, in order of first appearance.

    Returns
    -------
    colour, count
        int32 of the same length and the number of colours; ``count`` is -1 as soon as there are more than ``limit``.
    """
    size = 4096
    table = np.full(size, -1, dtype=np.int32)
    keys = np.empty(size // 2, dtype=np.uint64)
    count = 0
    colour = np.empty(len(hashes), dtype=np.int32)
    for i in range(len(hashes)):
        h = hashes[i]
        at = np.int64(h >> np.uint64(1)) & (size - 1)
        while table[at] >= 0 and keys[table[at]] != h:
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            if count >= limit:
                return colour, -1
            if count == len(keys):
                size *= 4
                table = np.full(size, -1, dtype=np.int32)
                grown = np.empty(size // 2, dtype=np.uint64)
                grown[:count] = keys
                keys = grown
                for k in range(count):
                    at = np.int64(keys[k] >> np.uint64(1)) & (size - 1)
                    while table[at] >= 0:
                        at = (at + 1) & (size - 1)
                    table[at] = k
                at = np.int64(h >> np.uint64(1)) & (size - 1)
                while table[at] >= 0:
                    at = (at + 1) & (size - 1)
            keys[count] = h
            table[at] = count
            count += 1
        colour[i] = table[at]
    return colour, count


@kernel
def refine(
    op_colour, endpoint_colour, pred_indptr, pred_index, leg_indptr, leg_tx, leg_rx, device_indptr, device_ops
):  # numpydoc ignore=PR01
    """One round: split ops by the colours of their neighbours and of their legs' endpoints, endpoints by their legs.

    Neighbours are predecessors, successors and the ops just before and after on the device.

    Returns
    -------
    op_hash, endpoint_hash
        uint64 ``[n]`` and ``[E]``; sums over neighbours, so their order does not matter.
    """
    n = len(op_colour)
    op_hash = np.empty(n, dtype=np.uint64)
    for op in range(n):
        op_hash[op] = mix(np.uint64(op_colour[op]))
    endpoint_hash = np.empty(len(endpoint_colour), dtype=np.uint64)
    for e in range(len(endpoint_colour)):
        endpoint_hash[e] = mix(np.uint64(endpoint_colour[e]))
    for op in range(n):
        own = np.uint64(op_colour[op])
        as_succ = mix(own ^ SUCC)
        total = np.uint64(0)
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            other = pred_index[at]
            total += mix(np.uint64(op_colour[other]) ^ PRED)
            op_hash[other] += as_succ
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            tx, rx = leg_tx[leg], leg_rx[leg]
            sender, receiver = np.uint64(endpoint_colour[tx]), np.uint64(endpoint_colour[rx])
            total += mix(mix(sender ^ LEG) ^ receiver)
            endpoint_hash[tx] += mix(mix(own ^ SENDS) ^ receiver)
            endpoint_hash[rx] += mix(mix(own ^ RECEIVES) ^ sender)
        op_hash[op] += total
    for d in range(len(device_indptr) - 1):
        for at in range(device_indptr[d] + 1, device_indptr[d + 1]):
            before, after = device_ops[at - 1], device_ops[at]
            op_hash[after] += mix(np.uint64(op_colour[before]) ^ BEFORE)
            op_hash[before] += mix(np.uint64(op_colour[after]) ^ AFTER)
    return op_hash, endpoint_hash
