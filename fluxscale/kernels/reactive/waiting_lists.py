"""Lists of waiting ops, one for each port, kept in plain arrays without gaps.

Ops of one shape have the same legs, so only the first of them stands in the lists: of transfers, a list holds no more
than its port has peers. A node is one end of one option of a shape (transmit end first). Entries are in no order; each
has the arrival of its op, and the lane at the other end of its option, which must be idle too.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel


@kernel
def make_lists(
    leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, all_stop, duplex, shape, n_shapes, n_ports
):  # numpydoc ignore=PR01  # fmt: skip
    """Lay out the lists of all ports.

    Returns
    -------
    shape_nodes
        int64 ``[n_shapes + 1]``: nodes of each shape.
    easy
        bool ``[n_shapes]``: two idle lanes are all that an op of the shape needs (one leg, simplex ports, per-port
        rule).
    node_list, node_other, node_shape
        int32 ``[N]``: port in whose list a node stands, lane of its other end, and its shape.
    list_indptr
        int64 ``[n_ports + 1]``: room of each list.
    """
    shape_nodes = np.zeros(n_shapes + 1, dtype=np.int64)
    first_op = np.full(n_shapes, -1, dtype=np.int32)
    for op in range(len(shape)):
        if first_op[shape[op]] < 0:
            first_op[shape[op]] = op
            shape_nodes[shape[op] + 1] = 2 * (option_indptr[leg_indptr[op + 1]] - option_indptr[leg_indptr[op]])
    for s in range(n_shapes):
        shape_nodes[s + 1] += shape_nodes[s]
    node_list = np.empty(shape_nodes[n_shapes], dtype=np.int32)
    node_other = np.empty(shape_nodes[n_shapes], dtype=np.int32)
    node_shape = np.empty(shape_nodes[n_shapes], dtype=np.int32)
    easy = np.zeros(n_shapes, dtype=np.bool_)
    list_indptr = np.zeros(n_ports + 1, dtype=np.int64)
    for s in range(n_shapes):
        op = first_op[s]
        option = option_indptr[leg_indptr[op]]
        easy[s] = leg_indptr[op + 1] - leg_indptr[op] == 1
        for node in range(shape_nodes[s], shape_nodes[s + 1], 2):
            plane, a, b = option_plane[option], option_tx_lane[option], option_rx_lane[option]
            easy[s] = easy[s] and not (duplex[plane] or all_stop[plane])
            node_list[node], node_other[node] = a, b
            node_list[node + 1], node_other[node + 1] = b - 1 if duplex[plane] else b, a
            node_shape[node] = node_shape[node + 1] = s
            list_indptr[node_list[node] + 1] += 1
            list_indptr[node_list[node + 1] + 1] += 1
            option += 1
    for port in range(n_ports):
        list_indptr[port + 1] += list_indptr[port]
    return shape_nodes, easy, node_list, node_other, node_shape, list_indptr


@inlined
def enter(
    s, arrival, shape_nodes, node_list, node_other, list_indptr, list_size, node_at, entry_node, entry_other,
    entry_arrival,
):  # numpydoc ignore=PR01  # fmt: skip
    """Put a shape's first op into the lists of its ports."""
    for node in range(shape_nodes[s], shape_nodes[s + 1]):
        port = node_list[node]
        at = list_indptr[port] + list_size[port]
        list_size[port] += 1
        node_at[node] = at
        entry_node[at] = node
        entry_other[at] = node_other[node]
        entry_arrival[at] = arrival


@inlined
def leave(
    s, shape_nodes, node_list, list_indptr, list_size, node_at, entry_node, entry_other, entry_arrival
):  # numpydoc ignore=PR01  # fmt: skip
    """Take a shape out of the lists of its ports; the last entry of each takes its place."""
    for node in range(shape_nodes[s], shape_nodes[s + 1]):
        port = node_list[node]
        list_size[port] -= 1
        at, last = node_at[node], list_indptr[port] + list_size[port]
        entry_node[at] = entry_node[last]
        entry_other[at] = entry_other[last]
        entry_arrival[at] = entry_arrival[last]
        node_at[entry_node[at]] = at
