"""Plain-Python twin of the rotor simulation with RotorLB: it looks at every circuit at every tick."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from fluxscale.instance.instance import DARK
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.matchings.round_robin import one_way, two_way


@dataclass
class Switch:
    """One OCS: who hangs on it, whom each sends to in each round, when circuits are up."""

    plane: int
    members: list[int]
    rounds: list[list[int]]
    ahead: int
    delay: int
    dark_start: bool
    slot: int

    def window(self, t):
        """Number of the slot whose circuits are up at ``t``, their begin and end; or None."""
        for turn in (t // self.slot, t // self.slot + 1):
            begin, end = turn * self.slot + self.delay, (turn + 1) * self.slot
            if len(self.rounds) == 1:
                begin = self.delay if turn == 0 and self.dark_start else turn * self.slot
            elif not self.dark_start:
                begin, end = begin - self.delay, end - self.delay
            if begin <= t < end:
                return turn, begin, end
        return None

    def receiver(self, rank, turn):
        to = self.rounds[(turn + self.ahead) % len(self.rounds)][rank]
        return None if to < 0 else self.members[to]


@dataclass
class Item:
    """What a port sends: units of a leg from ``start`` to ``end``; ``relay_for``: the destination it is stored for."""

    leg: int
    amount: int
    speed: int
    start: int
    end: int
    to: int
    relay_for: int | None


@dataclass
class Twin:
    """State and figures of a run."""

    instance: object
    slot: int
    staggered: bool
    op_start: dict = field(default_factory=dict)
    op_end: dict = field(default_factory=dict)
    busy: dict = field(default_factory=dict)
    sent: dict = field(default_factory=dict)  # (from, to) -> units
    delivered: dict = field(default_factory=dict)  # leg -> units
    taken: dict = field(default_factory=dict)  # leg -> units that left their sender
    peak: dict = field(default_factory=dict)  # endpoint -> units
    last: dict = field(default_factory=dict)  # op -> last arrival so far

    def __post_init__(self):
        ins = self.instance
        self.work = work(ins)
        self.leg_op = [op for op in range(ins.n_ops) for _ in range(ins.leg_indptr[op], ins.leg_indptr[op + 1])]
        self.switches = []
        for p in range(ins.n_planes):
            for ocs in sorted(set(ins.attach[p].tolist()) - {-1}):
                members = [e for e in range(ins.n_endpoints) if ins.attach[p, e] == ocs]
                if len(members) > 1:
                    rounds = (two_way if ins.plane_duplex[p] else one_way)(len(members)).tolist()
                    ahead = p * len(rounds) // ins.n_planes if self.staggered else 0
                    dark = ins.boundary == DARK
                    delay = int(ins.plane_delay_ticks[p])
                    self.switches.append(Switch(p, members, rounds, ahead, delay, dark, self.slot))
        self.places = [(o, rank) for o, s in enumerate(self.switches) for rank in range(len(s.members))]
        self.item, self.transit = {}, []  # place -> Item; (arrival, place, Item)
        self.own, self.stored = {}, {}  # (from, to) -> legs in order of release; (at, for) -> [leg, units]
        self.load = {}  # (at, for) -> units on hand or accepted
        self.left = {leg: int(units) for leg, units in enumerate(self.work.leg_amount)}
        self.order, self.released, self.size = {}, {}, {}
        self.ending = {}  # op -> when it ends, known
        asked = pairs(ins)
        self.weight, self.injection = {}, {}
        for leg in range(ins.n_legs):
            q = asked.leg_pair[leg]
            planes = asked.planes[asked.plane_indptr[q] : asked.plane_indptr[q + 1]].tolist()
            if self.fixed(leg):
                size, ticks = int(ins.op_bytes[self.leg_op[leg]]) * self.work.units_per_byte, self.left[leg]
                self.weight[leg] = size // max(ticks, 1) if size else int(self.work.plane_speed[planes[0]])
                self.injection[leg] = max(1, self.weight[leg] * len(planes))
            else:
                self.weight[leg] = 1
                self.injection[leg] = max(1, sum(int(self.work.plane_injection[p]) for p in planes))

    def fixed(self, leg):
        return bool(self.work.leg_fixed[leg])

    def latency(self, leg, plane):
        return 0 if self.fixed(leg) else int(self.instance.plane_latency_ticks[plane])

    def units_of_load(self, leg):
        return int(self.work.plane_speed.max()) if self.fixed(leg) else 1

    def limit(self, at, to):
        """What one slot carries from ``at`` to ``to`` at best."""
        best = 0
        for s in self.switches:
            if at in s.members and to in s.members:
                dark = s.delay if len(s.rounds) > 1 else 0
                best = max(best, (self.slot - dark) * int(self.work.plane_speed[s.plane]))
        return best

    def run(self, last=10**6):
        ins = self.instance
        preds = {
            op: set(ins.pred_index[ins.pred_indptr[op] : ins.pred_indptr[op + 1]].tolist()) for op in range(ins.n_ops)
        }
        for d in range(ins.n_devices):
            order = ins.device_ops[ins.device_indptr[d] : ins.device_indptr[d + 1]].tolist()
            for before, after in itertools.pairwise(order):
                preds[after].add(before)
        self.begun = set()
        t = 0
        while len(self.op_end) < ins.n_ops:
            assert t < last, "never ends"
            self.due, self.seen = set(), set()  # places that may look for indirect work; endpoints to look at
            self.moves(t)
            while True:
                ends = [op for op, end in self.ending.items() if end == t and op not in self.op_end]
                begins = [op for op in preds if op not in self.begun and preds[op] <= self.op_end.keys()]
                if ends:
                    self.op_end[min(ends)] = t
                elif begins:
                    self.begun.add(min(begins))
                    self.begin(min(begins), t)
                else:
                    break
            self.pick(t)
            self.look(t)
            t += 1
        return self

    def moves(self, t):
        for place in self.places:
            for arrival in [a for a in self.transit if a[0] == t and a[1] == place]:
                self.transit.remove(arrival)
                self.store(arrival[2], t)
            item = self.item.get(place)
            if item is None or item.end != t:
                continue
            del self.item[place]
            self.due.add(place)
            s = self.switches[place[0]]
            sender = s.members[place[1]]
            self.seen.add(sender)
            self.size[sender] -= item.amount * self.weight[item.leg]
            arrival = t + self.latency(item.leg, s.plane)
            if item.relay_for is None:
                op = self.leg_op[item.leg]
                self.delivered[item.leg] = self.delivered.get(item.leg, 0) + item.amount
                self.last[op] = max(self.last[op], arrival)
                legs = range(self.instance.leg_indptr[op], self.instance.leg_indptr[op + 1])
                if all(self.delivered.get(leg, 0) == self.work.leg_amount[leg] for leg in legs):
                    self.ending[op] = self.last[op]
            elif arrival == t:
                self.store(item, t)
            else:
                self.transit.append((arrival, place, item))

    def store(self, item, t):
        self.stored.setdefault((item.to, item.relay_for), []).append([item.leg, item.amount])
        self.size[item.to] = self.size.get(item.to, 0) + item.amount * self.weight[item.leg]
        self.seen.add(item.to)
        for o, rank in self.places:
            s = self.switches[o]
            up = s.window(t)
            if s.members[rank] == item.to and up and s.receiver(rank, up[0]) == item.relay_for:
                self.due.add((o, rank))

    def begin(self, op, t):
        ins = self.instance
        legs = range(ins.leg_indptr[op], ins.leg_indptr[op + 1])
        if not len(legs):
            self.op_start[op], self.ending[op] = t, t + int(ins.op_fixed_ticks[op])
            return
        self.last[op] = 0
        for leg in legs:
            tx, rx = int(ins.leg_tx[leg]), int(ins.leg_rx[leg])
            if self.left[leg] == 0:
                plane = next(p for p in range(ins.n_planes) if ins.attach[p, tx] == ins.attach[p, rx] >= 0)
                self.op_start[op] = t
                self.last[op] = max(self.last[op], t + self.latency(leg, plane))
                continue
            self.order[leg], self.released[leg] = len(self.order), t
            self.own.setdefault((tx, rx), []).append(leg)
            self.load[tx, rx] = self.load.get((tx, rx), 0) + self.left[leg] * self.units_of_load(leg)
            self.size[tx] = self.size.get(tx, 0) + self.left[leg] * self.weight[leg]
            self.due |= {(o, rank) for o, rank in self.places if self.switches[o].members[rank] == tx}
        if all(self.work.leg_amount[leg] == 0 for leg in legs):
            self.ending[op] = self.last[op]

    def pick(self, t):
        for phase in (self.direct, self.indirect):
            for o, rank in self.places:
                up = self.switches[o].window(t)
                if up is None or (o, rank) in self.item:
                    continue
                turn, begin, end = up
                to = self.switches[o].receiver(rank, turn)
                if to is not None and (phase == self.direct or t == begin or (o, rank) in self.due):
                    phase((o, rank), self.switches[o].members[rank], to, t, end)

    def direct(self, place, sender, to, t, end):
        if self.stored.get((sender, to)):
            chunk = self.stored[sender, to][0]
            take = self.start(place, chunk[0], self.part(place, *chunk, sender, to, t), sender, to, None, t, end)
            chunk[1] -= take
            if chunk[1] == 0:
                self.stored[sender, to].pop(0)
            self.load[sender, to] -= take * self.units_of_load(chunk[0])
        elif self.own.get((sender, to)):
            leg = self.own[sender, to][0]
            part = self.part(place, leg, self.left[leg], sender, to, t)
            self.take_own(leg, (sender, to), self.start(place, leg, part, sender, to, None, t, end), t)

    def part(self, place, leg, units, sender, to, t):
        """What falls to one of the idle circuits that go the same way, by speed."""
        speed = {}
        for o, rank in self.places:
            s = self.switches[o]
            up = s.window(t)
            if s.members[rank] == sender and up and (o, rank) not in self.item and s.receiver(rank, up[0]) == to:
                speed[o, rank] = 1 if self.fixed(leg) else int(self.work.plane_speed[s.plane])
        return min(units, -(-units // sum(speed.values())) * speed[place])

    def indirect(self, place, sender, to, t, end):
        members = self.switches[place[0]].members
        heads = [(self.order[legs[0]], pair) for pair, legs in self.own.items() if legs and pair[0] == sender]
        for _, pair in sorted(heads):
            final = pair[1]
            if final == to or final not in members:
                continue
            leg = self.own[pair][0]
            free = self.limit(to, final) - self.load.get((to, final), 0)
            accepted = min(self.left[leg], free // self.units_of_load(leg))
            if accepted > 0:
                take = self.start(place, leg, accepted, sender, to, final, t, end)
                self.load[to, final] = self.load.get((to, final), 0) + take * self.units_of_load(leg)
                self.take_own(leg, pair, take, t)
                return

    def take_own(self, leg, pair, take, t):
        self.left[leg] -= take
        self.taken[leg] = self.taken.get(leg, 0) + take
        self.load[pair] -= take * self.units_of_load(leg)
        self.op_start.setdefault(self.leg_op[leg], t)
        if self.left[leg] == 0:
            self.own[pair].pop(0)

    def start(self, place, leg, most, sender, to, relay_for, t, end):
        plane = self.switches[place[0]].plane
        speed = 1 if self.fixed(leg) else int(self.work.plane_speed[plane])
        take = min(most, speed * (end - t))
        ticks = -(-take // speed)
        self.item[place] = Item(leg, take, speed, t, t + ticks, to, relay_for)
        self.busy[plane] = self.busy.get(plane, 0) + ticks
        self.sent[sender, to] = self.sent.get((sender, to), 0) + take
        self.seen.add(sender)
        return take

    def look(self, t):
        for leg, begin in self.released.items():
            if begin + -(-int(self.work.leg_amount[leg]) * self.weight[leg] // self.injection[leg]) == t:
                self.seen.add(int(self.instance.leg_tx[leg]))
        for endpoint in self.seen:
            level = self.size[endpoint]
            for (o, rank), item in self.item.items():
                if self.switches[o].members[rank] == endpoint:
                    level -= min(item.amount, item.speed * (t - item.start)) * self.weight[item.leg]
            for leg, begin in self.released.items():
                if self.instance.leg_tx[leg] == endpoint:
                    size = int(self.work.leg_amount[leg]) * self.weight[leg]
                    level -= max(0, size - self.injection[leg] * (t - begin))
            self.peak[endpoint] = max(self.peak.get(endpoint, 0), level)

    def account(self, total):
        """Circuits set up, circuit time up and dark time of each plane before ``total``, counted tick by tick."""
        n = self.instance.n_planes
        setups, up, dark = 0, [0] * n, [0] * n
        for s in self.switches:
            circuits, ways = (len(s.members) // 2, 2) if self.instance.plane_duplex[s.plane] else (len(s.members), 1)
            up[s.plane] += sum(s.window(t) is not None for t in range(total)) * circuits * ways
            changes = 0
            if len(s.rounds) > 1:
                first, lead = (0, 0) if s.dark_start else (1, s.delay)
                changes = sum(turn * s.slot - lead < total for turn in range(first, total // s.slot + 3))
            elif s.dark_start and total > 0:
                changes = 1
            setups += changes * circuits
            dark[s.plane] += changes * s.delay * (1 if self.instance.plane_all_stop[s.plane] else circuits)
        return setups, up, dark


def naive_rotor_vlb(instance, slot, *, staggered=True):
    """Run the twin."""
    return Twin(instance, slot, staggered).run()
