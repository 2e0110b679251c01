"""Which sends meet which receives, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mpicoll.diagnosis.states import Message, RankState

__all__ = ["End", "Matching", "differences", "match"]


class End(NamedTuple):
    """A message on a rank; `gone`: a send that is complete on its side."""

    rank: int
    message: Message
    gone: bool = False

    def __str__(self) -> str:
        where = f" at {self.message.where}" if self.message.where else ""
        return f"{self.message}{where}"


class Matching(NamedTuple):
    """The pairs that will meet, and the ends that meet nobody."""

    pairs: list[tuple[End, End]]
    sends: list[End]
    receives: list[End]

    def meets(self, rank: int, message: Message) -> bool:
        """Whether this message, which is one of `rank`'s, has its other end."""
        return any(
            end.rank == rank and end.message is message for pair in self.pairs for end in pair
        )


def match(states: Iterable[RankState]) -> Matching:
    """Pair what is open, in the order in which every rank began it, as MPI does."""
    sends: list[End] = []
    receives: list[End] = []
    for state in states:
        sends += [End(state.rank, message, gone=True) for message in state.unreceived]
        for message in (*state.started, *state.waits):
            if isinstance(message, Message):
                ends = sends if message.kind == "send" else receives
                ends.append(End(state.rank, message))
    pairs = []
    alone = []
    for receive in receives:
        found = next((send for send in sends if _fits(send, receive)), None)
        if found is None:
            alone.append(receive)
            continue
        pairs.append((found, receive))
        if receive.message.kind != "probe":
            sends = [send for send in sends if send is not found]
    met = [pair[0] for pair in pairs]
    return Matching(pairs, [s for s in sends if not any(s is m for m in met)], alone)


def _fits(send: End, receive: End) -> bool:
    return (
        send.message.peer == receive.rank
        and receive.message.peer in (None, send.rank)
        and receive.message.tag in (None, send.message.tag)
        and receive.message.communicator == send.message.communicator
    )


def differences(matching: Matching) -> list[tuple[tuple[int, ...], str]]:
    """For each receive that meets nobody, the send that comes nearest: ranks, and a sentence.

    A send explains one receive. What is left of sends that are complete on their side is named in a
    sentence of its own.
    """
    found = []
    left = list(matching.sends)
    for receive in matching.receives:
        ranked = sorted(
            (far, i) for i, send in enumerate(left) if (far := _distance(send, receive))
        )
        if ranked:
            send = left.pop(ranked[0][1])
            found.append(((receive.rank, send.rank), _sentence(send, receive)))
    for send in left:
        if send.gone:
            text = f"rank {send.rank} has sent what nobody received: {send}"
            found.append(((send.rank,), text))
    return found


def _distance(send: End, receive: End) -> int:
    """How many things differ, 0 if these two have nothing to do with each other."""
    wanted, given = receive.message, send.message
    tag = wanted.tag not in (None, given.tag)
    source = wanted.peer not in (None, send.rank)
    target = given.peer != receive.rank
    communicator = wanted.communicator != given.communicator
    wrong = tag + 2 * source + 3 * target + communicator
    # Two ranks that differ in the message and in the partner only happen to communicate.
    return wrong if not (source and target) and tag + source + target + communicator == 1 else 0


def _sentence(send: End, receive: End) -> str:
    wanted, given = receive.message, send.message
    waits = f"rank {receive.rank} waits in {receive}"
    sent = "sent" if send.gone else "sends"
    if given.peer != receive.rank:
        return f"{waits}, but rank {send.rank} {sent} this to rank {given.peer}: {send}"
    if wanted.peer not in (None, send.rank):
        return f"{waits}, but it is rank {send.rank} that {sent} it one with this tag: {send}"
    if wanted.tag not in (None, given.tag):
        return f"{waits}, but rank {send.rank} {sent} tag {given.tag}, not {wanted.tag}: {send}"
    here, there = wanted.communicator, given.communicator
    return f"{waits} on {here}, but rank {send.rank} {sent} on {there}: {send}"
