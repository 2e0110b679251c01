"""The mistakes of students that are met in practice, planted, and what must be said of them.

Numbers 11 to 58: messages, collectives, own collectives. ``said`` are words of the explanation;
``where`` is the text of the line that it must name.
"""

from __future__ import annotations

from dataclasses import dataclass

from programs import (
    COMBINE,
    FIRST,
    FIRST_LOOP,
    HEAD,
    PAIRS,
    RING,
    SECOND,
    SECOND_LOOP,
    TREE,
    changed,
    lines_of,
)

__all__ = ["NOT_PLANTED", "PLANTED", "Plant"]


@dataclass(frozen=True)
class Plant:
    number: int
    mistake: str
    source: str
    code: str
    said: tuple[str, ...] = ()
    where: str = ""
    check: str = ""
    exercise: str = "ring_allreduce"
    also: tuple[str, ...] = ()  # other codes that are as good, on the library where they come up

    def __str__(self) -> str:
        return f"{self.number}-{self.mistake.replace(' ', '-')}"


NOT_PLANTED = {
    35: "a belief (sends always block, or never do), not a program: 11 and 28 are what comes of it",
}

SEND_FIRST = lines_of("comm.Send(chunk[s], right)", "comm.Recv(temp, left)")
GATHERED = (
    HEAD
    + """\
def ring_allreduce(comm, sendbuf, recvbuf, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    for other in range(size):
        if other != rank:
            comm.Isend(sendbuf, other).Wait()
    recvbuf[:] = sendbuf
    temp = np.empty_like(sendbuf)
    for _ in range(size - 1):
        comm.Recv(temp, MPI.ANY_SOURCE)
        recvbuf[:] = op(temp, recvbuf)
"""
)


def free(body: str) -> str:
    """A program for the exercise in which everything is allowed."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return (
        HEAD + "def anything(comm, x):\n    rank, size = comm.Get_rank(), comm.Get_size()\n" + lines
    )


PLANTED = [
    Plant(
        11,
        "everybody sends first",
        changed(RING, (FIRST, SEND_FIRST)),
        "send-first",
        ("all send first", "Sendrecv"),
        "comm.Send(chunk[s], right)",
        "safe",
    ),
    Plant(
        12,
        "wrong tag",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.Isend(chunk[s], right, tag=1)",
                    "comm.Recv(temp, left, tag=2)",
                    "request.Wait()",
                ),
            ),
        ),
        "tag-mismatch",
        ("sent tag 1", "waits for tag 2"),
        "comm.Recv(temp, left, tag=2)",
    ),
    Plant(
        13,
        "wrong peer",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.Isend(chunk[s], right)",
                    "comm.Recv(temp, (rank + 2) % size)",
                    "request.Wait()",
                ),
            ),
        ),
        "peer-mismatch",
        ("while rank", "waits for a message from rank"),
        "comm.Recv(temp, (rank + 2) % size)",
    ),
    Plant(
        14,
        "receive buffer too small",
        changed(
            RING,
            (
                "        temp = np.empty_like(chunk[r])\n",
                "        temp = np.empty(chunk[r].size - 1, out.dtype)\n",
            ),
        ),
        "receive-too-small",
        ("sends 3 float64", "has room for 2 float64"),
        FIRST,
    ),
    Plant(
        15,
        "receive buffer too large",
        changed(
            RING,
            (
                SECOND,
                lines_of(
                    "whole = np.zeros(chunk[r].size + 2, out.dtype)",
                    "comm.Sendrecv(chunk[s], right, 1, whole, left, 1)",
                    "chunk[r][:] = whole[2:]",
                ),
            ),
        ),
        "receive-too-large",
        ("the rest is left as it was",),
        also=("contributions",),
    ),
    Plant(
        16,
        "float64 sent and int64 received",
        changed(
            RING,
            (
                "        temp = np.empty_like(chunk[r])\n",
                "        temp = np.empty(chunk[r].size, np.int64)\n",
            ),
        ),
        "dtype-mismatch",
        ("sends 3 float64", "int64", "converts nothing"),
        FIRST,
    ),
    Plant(
        17,
        "float32 sent and float64 received",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "part = chunk[s].astype(np.float32)",
                    "comm.Sendrecv(part, right, 0, temp, left, 0)",
                ),
            ),
        ),
        "dtype-mismatch",
        ("float32", "as float64"),
        "comm.Sendrecv(part, right, 0, temp, left, 0)",
    ),
    Plant(
        18,
        "int64 into int32",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "temp = np.empty(chunk[r].size, 'i')",
                    "comm.Sendrecv(chunk[s].astype(int), right, 0, temp, left, 0)",
                ),
            ),
        ),
        "dtype-mismatch",
        ("3 int64", "room for 3 int32"),
        "comm.Sendrecv(chunk[s].astype(int), right, 0, temp, left, 0)",
    ),
    Plant(
        19,
        "MPI.INT for an int64 array",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "n = chunk[s].size",
                    "comm.Sendrecv([chunk[s], n, MPI.INT], right, 0, [temp, n, MPI.INT], left, 0)",
                ),
            ),
        ),
        "datatype-argument",
        ("says that it holds int32",),
        "n, MPI.INT]",
    ),
    Plant(
        20,
        "send with Recv",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.isend(chunk[s], right)",
                    "comm.Recv(temp, left)",
                    "request.wait()",
                ),
            ),
        ),
        "mixed-case",
        ("isend", "Recv", "pickle"),
        "comm.Recv(temp, left)",
    ),
    Plant(
        21,
        "Send with recv",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.Isend(chunk[s], right)",
                    "temp = comm.recv(source=left)",
                    "request.wait()",
                ),
            ),
        ),
        "mixed-case",
        ("Isend", "recv", "pickle"),
        "temp = comm.recv(source=left)",
    ),
    Plant(
        22,
        "irecv of a big object",
        free("""
request = comm.irecv(source=(rank - 1) % size)
comm.isend(np.zeros(20000), (rank + 1) % size)
request.wait()
return x"""),
        "object-too-large",
        ("32 KiB",),
        "request.wait()",
        exercise="anything",
    ),
    Plant(
        23,
        "lower case for big arrays",
        changed(RING, (FIRST, lines_of("temp = comm.sendrecv(chunk[s], right, source=left)"))),
        "pickled-arrays",
        ("pickle",),
        "temp = comm.sendrecv",
        check="notes",
    ),
    Plant(
        24,
        "request dropped",
        changed(
            RING, (FIRST, lines_of("comm.Isend(chunk[s].copy(), right)", "comm.Recv(temp, left)"))
        ),
        "request-dropped",
        ("without waiting", "Isend"),
        "comm.Isend(chunk[s].copy(), right)",
        "messages",
    ),
    Plant(
        25,
        "buffer changed before Wait",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.Isend(chunk[s], right)",
                    "chunk[s][:] = 0",
                    "comm.Recv(temp, left)",
                    "request.Wait()",
                ),
            ),
        ),
        "changed-before-wait",
        ("was changed before the Isend",),
        "request.Wait()",
    ),
    Plant(
        26,
        "Irecv read before Wait",
        changed(
            RING,
            (COMBINE, ""),
            (
                FIRST,
                lines_of(
                    "request = comm.Irecv(temp, left)",
                    "comm.Send(chunk[s], right)",
                    "chunk[r][:] = op(temp, chunk[r])",
                    "request.Wait()",
                ),
            ),
        ),
        "read-before-wait",
        ("had not been waited for",),
        "request = comm.Irecv(temp, left)",
    ),
    Plant(
        27,
        "Isend directly followed by Wait",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.Irecv(temp, left)",
                    "comm.Isend(chunk[s], right).Wait()",
                    "request.Wait()",
                ),
            ),
        ),
        "wait-at-once",
        ("the same as Send",),
        "comm.Isend(chunk[s], right).Wait()",
        check="notes",
    ),
    Plant(
        28,
        "Isend of a chunk before it is received",
        HEAD
        + """\
def ring_allreduce(comm, sendbuf, recvbuf, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    recvbuf[...] = sendbuf
    chunk = np.array_split(recvbuf.reshape(-1), size)
    for phase in (0, 1):
        first = rank + phase
        requests = []
        temps = [np.empty_like(c) for c in chunk]
        for step in range(size - 1):
            requests.append(comm.Isend(chunk[(first - step) % size].copy(), right, step))
        for step in range(size - 1):
            r = (first - step - 1) % size
            comm.Recv(temps[r], left, step)
            chunk[r][:] = op(temps[r], chunk[r]) if phase == 0 else temps[r]
        MPI.Request.Waitall(requests)
""",
        "sent-too-early",
        ("before it has received it",),
        "requests.append(comm.Isend(",
    ),
    Plant(
        29,
        "slice that is not contiguous",
        free("""
table = np.zeros((6, 4))
if rank == 0:
    comm.Send(table[:, 1], 1)
elif rank == 1:
    column = np.empty(6)
    comm.Recv(column, 0)
return x"""),
        "not-contiguous",
        ("ascontiguousarray", "only"),
        "comm.Send(table[:, 1], 1)",
        exercise="anything",
    ),
    Plant(
        30,
        "Recv into a copy",
        changed(
            RING,
            (
                SECOND,
                lines_of(
                    "where = list(range(cut[r], cut[r + 1]))",
                    "request = comm.Isend(chunk[s], right)",
                    "comm.Recv(out[where], left)",
                    "request.Wait()",
                ),
            ),
        ),
        "received-into-copy",
        ("temporary copy",),
        "comm.Recv(out[where], left)",
    ),
    Plant(
        31,
        "Send of a list",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "request = comm.Isend(list(chunk[s]), right)",
                    "comm.Recv(temp, left)",
                    "request.Wait()",
                ),
            ),
        ),
        "no-buffer",
        ("has no memory to send",),
        "request = comm.Isend(list(chunk[s]), right)",
    ),
    Plant(
        32,
        "rank - 1 without size",
        changed(
            RING,
            ("left = (rank + 1) % size, (rank - 1) % size", "left = (rank + 1) % size, rank - 1"),
        ),
        "rank-out-of-range",
        ("rank 0 names source -1", "(rank - 1) % size"),
        FIRST,
    ),
    Plant(
        33,
        "rank + 1 equal to size",
        changed(
            RING,
            ("left = (rank + 1) % size, (rank - 1) % size", "left = rank + 1, (rank - 1) % size"),
        ),
        "rank-out-of-range",
        ("rank 3 names destination 4", "(rank + 1) % size"),
        FIRST,
    ),
    Plant(
        34,
        "ANY_SOURCE in an own collective",
        GATHERED,
        "wildcard-mixes-calls",
        ("two calls in a row mix", "any source"),
        "comm.Recv(temp, MPI.ANY_SOURCE)",
        exercise="any_allreduce",
    ),
    Plant(
        36,
        "accidental serialisation",
        changed(
            RING,
            (
                FIRST,
                lines_of(
                    "if rank == 0:",
                    "    comm.Send(chunk[s], right)",
                    "    comm.Recv(temp, left)",
                    "else:",
                    "    comm.Recv(temp, left)",
                    "    comm.Send(chunk[s], right)",
                ),
            ),
            (
                SECOND,
                lines_of(
                    "if rank == 0:",
                    "    comm.Send(chunk[s], right)",
                    "    comm.Recv(chunk[r], left)",
                    "else:",
                    "    comm.Recv(chunk[r], left)",
                    "    comm.Send(chunk[s], right)",
                ),
            ),
        ),
        "serialised",
        ("one after the other",),
        "comm.Send(chunk[s], right)",
        "structure",
    ),
    Plant(
        37,
        "same array for both sides of Sendrecv",
        changed(
            RING,
            (
                SECOND,
                lines_of(
                    "n = min(chunk[s].size, chunk[r].size)",
                    "if chunk[s].size == chunk[r].size:",
                    "    chunk[r][:] = chunk[s]",
                    "    comm.Sendrecv(chunk[r], right, 1, chunk[r], left, 1)",
                    "else:",
                    "    comm.Sendrecv(chunk[s], right, 1, chunk[r], left, 1)",
                ),
            ),
        ),
        "overlap",
        ("the same memory",),
        "comm.Sendrecv(chunk[r], right, 1, chunk[r], left, 1)",
    ),
    Plant(
        38,
        "only some ranks call",
        free("if rank != 2:\n    comm.Barrier()\nreturn x"),
        "collective-missing",
        ("rank 2", "Barrier"),
        "comm.Barrier()",
        exercise="anything",
    ),
    Plant(
        39,
        "roots differ",
        free("y = np.array(x)\ncomm.Bcast(y, root=rank % 2)\nreturn y"),
        "different-roots",
        ("root",),
        "comm.Bcast(y, root=rank % 2)",
        exercise="anything",
    ),
    Plant(
        40,
        "different order",
        free("""
y, z = np.array(x), np.zeros_like(x)
if rank == 0:
    comm.Bcast(y, 0)
    comm.Reduce(x, z, MPI.SUM, 0)
else:
    comm.Reduce(x, z, MPI.SUM, 0)
    comm.Bcast(y, 0)
return y"""),
        "collective-order",
        ("Bcast", "Reduce"),
        exercise="anything",
    ),
    Plant(
        41,
        "input and output are one",
        free("comm.Allreduce(x, x)\nreturn x"),
        "aliased-buffers",
        ("IN_PLACE",),
        "comm.Allreduce(x, x)",
        exercise="anything",
    ),
    Plant(
        42,
        "allreduce of lists",
        free("return np.array(comm.allreduce(list(x)))"),
        "list-concatenated",
        ("joins them",),
        "comm.allreduce(list(x))",
        exercise="anything",
    ),
    Plant(
        43,
        "MPI.MAX of arrays",
        changed(RING, (COMBINE, lines_of("chunk[r][:] = MPI.MAX(temp, chunk[r])"))),
        "truth-value",
        ("Reduce_local",),
        "chunk[r][:] = MPI.MAX(temp, chunk[r])",
    ),
    Plant(
        44,
        "Split with color and key exchanged",
        free("""
half = comm.Split(rank, rank // 2)
return np.array(half.allreduce(x))"""),
        "split-swapped",
        ("color", "key"),
        "half = comm.Split(rank, rank // 2)",
        exercise="anything",
    ),
    Plant(
        45,
        "Gather into too little memory",
        free("""
y = np.empty_like(x) if rank == 0 else None
comm.Gather(x, y, root=0)
return x"""),
        "gather-size",
        ("4 x", "has"),
        "comm.Gather(x, y, root=0)",
        exercise="anything",
    ),
    Plant(
        46,
        "output rebound",
        changed(
            RING,
            (
                "    out[:] = sendbuf.reshape(-1)\n",
                "    recvbuf = sendbuf.copy()\n    out = recvbuf.reshape(-1)\n",
            ),
        ),
        "rebound-output",
        ("gives the name recvbuf to a new array",),
        "recvbuf = sendbuf.copy()",
    ),
    Plant(
        47,
        "native collective inside",
        HEAD + "def ring_allreduce(comm, sendbuf, recvbuf, op):\n"
        "    comm.Allreduce(sendbuf, recvbuf, op)\n",
        "native-collective",
        ("Allreduce is a collective of MPI's own",),
        "comm.Allreduce(sendbuf, recvbuf, op)",
    ),
    Plant(
        48,
        "tail dropped",
        changed(
            RING,
            (
                "    return [r * n // size for r in range(size + 1)]\n",
                "    return [r * (n // size) for r in range(size + 1)]\n",
            ),
        ),
        "tail-dropped",
        ("the last", "drops the rest"),
        check="counts",
    ),
    Plant(
        49,
        "1-D assumed",
        changed(
            RING,
            (
                "    out = recvbuf.reshape(-1)\n    out[:] = sendbuf.reshape(-1)\n",
                "    out = recvbuf[:, 0] if recvbuf.ndim > 1 else recvbuf\n"
                "    recvbuf[:] = sendbuf\n",
            ),
        ),
        "only-1d",
        ("2-D",),
        check="counts",
        also=("not-contiguous",),
    ),
    Plant(
        50,
        "input mutated",
        changed(
            RING,
            (
                "    out[:] = sendbuf.reshape(-1)\n",
                "    out[:] = sendbuf.reshape(-1)\n    sendbuf *= 2\n",
            ),
        ),
        "input-changed",
        ("the caller's input was changed",),
        check="input",
    ),
    Plant(
        51,
        "temporary of dtype float",
        changed(RING, ("np.empty_like(chunk[r])", "np.empty(chunk[r].size, dtype=float)")),
        "dtype-mismatch",
        ("int64", "float64"),
        FIRST,
    ),
    Plant(
        52,
        "second phase starts at the wrong chunk",
        changed(
            RING,
            (
                "s, r = (rank + 1 - step) % size, (rank - step) % size",
                "s, r = (rank - step) % size, (rank - step - 1) % size",
            ),
        ),
        "second-phase-chunk",
        ("holds the contributions", "missing", "second phase starts at the wrong chunk"),
        SECOND,
    ),
    Plant(
        53,
        "first phase a step short",
        changed(
            RING,
            (
                FIRST_LOOP,
                FIRST_LOOP.replace("size - 1", "size - 2"),
            ),
        ),
        "too-few-steps",
        ("first phase has 2 steps", "needs 3"),
        FIRST,
    ),
    Plant(
        53,
        "second phase a step short",
        changed(
            RING,
            (
                SECOND_LOOP,
                SECOND_LOOP.replace("size - 1", "size - 2"),
            ),
        ),
        "too-few-steps",
        ("second phase has 2 steps", "needs 3"),
        SECOND,
    ),
    Plant(
        54,
        "p steps instead of p - 1",
        changed(
            RING,
            (
                SECOND_LOOP,
                SECOND_LOOP.replace("size - 1", "size"),
            ),
        ),
        "too-many-messages",
        ("sends 7 messages", "sends 6"),
        SECOND,
        "structure",
    ),
    Plant(
        55,
        "operation ignored",
        changed(RING, (COMBINE, lines_of("chunk[r][:] = temp + chunk[r]"))),
        "operation-ignored",
        ("computes SUM",),
        check="ops",
    ),
    Plant(
        56,
        "barriers",
        changed(RING, (SECOND, SECOND + lines_of("comm.Barrier()"))),
        "barrier",
        ("Barrier", "without it"),
        "comm.Barrier()",
    ),
    Plant(
        57,
        "loop over elements",
        changed(
            RING,
            (
                COMBINE,
                lines_of(
                    "for i in range(len(temp)):", "    chunk[r][i] = op(temp[i], chunk[r][i])"
                ),
            ),
        ),
        "too-slow",
        ("single elements",),
        "for i in range(len(temp)):",
        "speed",
    ),
    Plant(
        58,
        "own order of operands on every rank",
        HEAD
        + """\
def ring_allreduce(comm, sendbuf, recvbuf, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recvbuf[...] = sendbuf
    current = sendbuf.copy()
    for _ in range(size - 1):
        incoming = np.empty_like(current)
        comm.Sendrecv(current, (rank + 1) % size, 0, incoming, (rank - 1) % size, 0)
        recvbuf[...] = op(recvbuf, incoming)
        current = incoming
""",
        "different-bits",
        ("differ in their last bits",),
        check="bits",
    ),
]

# Mistakes in other exercises, which the same explanations must fit.
OTHERS = [
    Plant(
        0,
        "tree sends to the wrong child",
        changed(TREE, ("(rank + mask) % size, 3)", "(rank + mask + 1) % size, 3)")),
        "peer-mismatch",
        exercise="binomial_bcast",
        also=("send-first", "missing-send", "hang"),
    ),
    Plant(
        0,
        "root forgotten",
        changed(TREE, ("    relative = (rank - root) % size\n", "    relative = rank\n")),
        "only-root-0",
        exercise="binomial_bcast",
        check="roots",
    ),
    Plant(
        0,
        "own block not copied",
        changed(
            PAIRS,
            ("    recvbuf[rank * n : (rank + 1) * n] = sendbuf[rank * n : (rank + 1) * n]\n", ""),
        ),
        "chunk-untouched",
        ("block 0 on rank 0", "never written"),
        exercise="pairwise_alltoall",
    ),
    Plant(
        0,
        "block sent to the wrong rank",
        changed(
            PAIRS,
            (
                "sendbuf[to * n : (to + 1) * n], to, 0",
                "sendbuf[source * n : (source + 1) * n], to, 0",
            ),
        ),
        "contributions",
        ("holds the data of block",),
        exercise="pairwise_alltoall",
    ),
    Plant(
        0,
        "linear instead of tree",
        HEAD
        + """\
def binomial_bcast(comm, buf, root):
    if comm.rank == root:
        for other in range(comm.size):
            if other != root:
                comm.Send(buf, other)
    else:
        comm.Recv(buf, root)
""",
        "too-many-messages",
        ("sends 3 messages", "at most 2"),
        exercise="binomial_bcast",
        check="structure",
    ),
]
