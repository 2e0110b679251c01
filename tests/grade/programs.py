"""Programs as students write them: right ones in different styles, and a ring for bugs."""

HEAD = "import numpy as np\nfrom mpi4py import MPI\n\n\n"

RING = (
    HEAD
    + """\
def cuts(n, size):
    return [r * n // size for r in range(size + 1)]


def ring_allreduce(comm, sendbuf, recvbuf, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    out = recvbuf.reshape(-1)
    out[:] = sendbuf.reshape(-1)
    cut = cuts(out.size, size)
    chunk = [out[cut[i] : cut[i + 1]] for i in range(size)]
    for step in range(size - 1):
        s, r = (rank - step) % size, (rank - step - 1) % size
        temp = np.empty_like(chunk[r])
        comm.Sendrecv(chunk[s], right, 0, temp, left, 0)
        chunk[r][:] = op(temp, chunk[r])
    for step in range(size - 1):
        s, r = (rank + 1 - step) % size, (rank - step) % size
        comm.Sendrecv(chunk[s], right, 1, chunk[r], left, 1)
"""
)

FIRST = "        comm.Sendrecv(chunk[s], right, 0, temp, left, 0)\n"
FIRST_LOOP = "    for step in range(size - 1):\n        s, r = (rank - step)"
SECOND_LOOP = "    for step in range(size - 1):\n        s, r = (rank + 1 - step)"
COMBINE = "        chunk[r][:] = op(temp, chunk[r])\n"
SECOND = "        comm.Sendrecv(chunk[s], right, 1, chunk[r], left, 1)\n"


def changed(source: str, *pairs: tuple[str, str]) -> str:
    """The source with each first text replaced by the second; each must be there once."""
    for old, new in pairs:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} is there {source.count(old)} times")
        source = source.replace(old, new)
    return source


def lines_of(*lines: str) -> str:
    return "".join(f"        {line}\n" for line in lines)


#: Right programs for ring_allreduce, by style.
RIGHT = {
    "sendrecv": RING,
    "reduce_local": changed(RING, (COMBINE, lines_of("op.Reduce_local(temp, chunk[r])"))),
    "isend_recv": changed(
        RING,
        (
            FIRST,
            lines_of(
                "request = comm.Isend(chunk[s], dest=right)",
                "comm.Recv(temp, source=left)",
                "request.Wait()",
            ),
        ),
    ),
    "irecv_send": changed(
        RING,
        (
            FIRST,
            lines_of(
                "request = comm.Irecv(temp, source=left)",
                "comm.Send(chunk[s], dest=right)",
                "request.Wait()",
            ),
        ),
    ),
    "waitall": changed(
        RING,
        (
            FIRST,
            lines_of(
                "MPI.Request.Waitall(",
                "    [comm.Irecv(temp, left, step), comm.Isend(chunk[s], right, step)]",
                ")",
            ),
        ),
        (
            SECOND,
            lines_of(
                "requests = [comm.Isend(chunk[s], right), comm.Irecv(chunk[r], left)]",
                "for request in requests:",
                "    request.wait()",
            ),
        ),
    ),
    "odd_even": changed(
        RING,
        (
            FIRST,
            lines_of(
                "if rank % 2 == 0:",
                "    comm.Send(chunk[s], right)",
                "    comm.Recv(temp, left)",
                "else:",
                "    comm.Recv(temp, left)",
                "    comm.Send(chunk[s], right)",
            ),
        ),
    ),
    "one_rank_receives_first": changed(
        RING,
        (
            FIRST,
            lines_of(
                "if rank % 2 == 1:",
                "    comm.Recv(temp, left)",
                "    comm.Send(chunk[s], right)",
                "else:",
                "    comm.Send(chunk[s], right)",
                "    comm.Recv(temp, left)",
            ),
        ),
        (
            SECOND,
            lines_of(
                "if rank % 2 == 1:",
                "    comm.Recv(chunk[r], left)",
                "    comm.Send(chunk[s], right)",
                "else:",
                "    comm.Send(chunk[s], right)",
                "    comm.Recv(chunk[r], left)",
            ),
        ),
    ),
    "objects": changed(
        RING,
        (FIRST, lines_of("temp = comm.sendrecv(chunk[s], dest=right, source=left)")),
        (SECOND, lines_of("chunk[r][:] = comm.sendrecv(chunk[s], right, source=left)")),
    ),
    "object_requests": changed(
        RING,
        (
            FIRST,
            lines_of(
                "request = comm.isend(chunk[s].copy(), dest=right, tag=5)",
                "temp = comm.recv(source=left, tag=5)",
                "request.wait()",
            ),
        ),
    ),
    "array_split": changed(
        RING,
        (
            "    cut = cuts(out.size, size)\n"
            "    chunk = [out[cut[i] : cut[i + 1]] for i in range(size)]\n",
            "    chunk = np.array_split(out, size)\n",
        ),
    ),
    "last_takes_the_rest": changed(
        RING,
        (
            "    return [r * n // size for r in range(size + 1)]\n",
            "    return [r * (n // size) for r in range(size)] + [n]\n",
        ),
    ),
    "to_the_left": changed(
        RING,
        ("right, left = (rank + 1) % size, (rank - 1) % size", "right = (rank + 1) % size"),
        ("    out = recvbuf", "    left = (rank - 1) % size\n    out = recvbuf"),
    ),
    "starts_one_later": changed(
        RING,
        (
            "        s, r = (rank - step) % size, (rank - step - 1) % size\n",
            "        s, r = (rank - step - 1) % size, (rank - step - 2) % size\n",
        ),
        (
            "        s, r = (rank + 1 - step) % size, (rank - step) % size\n",
            "        s, r = (rank - step) % size, (rank - step - 1) % size\n",
        ),
    ),
    "out_of_place": HEAD
    + """\
def ring_allreduce(comm, sendbuf, recvbuf, op):
    rank, size = comm.rank, comm.size
    parts = [part.copy() for part in np.array_split(sendbuf.ravel(), size)]
    current = rank
    for _ in range(size - 1):
        incoming = (current - 1) % size
        buffer = np.zeros_like(parts[incoming])
        comm.Sendrecv(parts[current], dest=(rank + 1) % size, recvbuf=buffer,
                      source=(rank - 1) % size)
        op.Reduce_local(buffer, parts[incoming])
        current = incoming
    for _ in range(size - 1):
        incoming = (current - 1) % size
        comm.Sendrecv(parts[current], dest=(rank + 1) % size, recvbuf=parts[incoming],
                      source=(rank - 1) % size)
        current = incoming
    recvbuf[...] = np.concatenate(parts).reshape(recvbuf.shape)
""",
    "explicit_types": changed(
        RING,
        (
            FIRST,
            lines_of(
                "kind = MPI._typedict[temp.dtype.char]",
                "comm.Sendrecv([chunk[s], kind], right, 0, [temp, temp.size, kind], left, 0)",
            ),
        ),
    ),
    "if_by_operation": changed(
        RING,
        (
            COMBINE,
            lines_of(
                "if op == MPI.SUM:",
                "    chunk[r] += temp",
                "elif op == MPI.MAX:",
                "    np.maximum(chunk[r], temp, out=chunk[r])",
                "else:",
                "    op.Reduce_local(temp, chunk[r])",
            ),
        ),
    ),
    "module_globals": changed(
        RING,
        (
            HEAD,
            HEAD + "comm = MPI.COMM_WORLD\nSIZE = comm.Get_size()\nRANK = comm.Get_rank()\n\n\n",
        ),
        ("    rank, size = comm.Get_rank(), comm.Get_size()\n", "    rank, size = RANK, SIZE\n"),
    ),
    "scratch_once": changed(
        RING,
        (
            FIRST_LOOP,
            "    memory = np.empty(max(c.size for c in chunk), out.dtype)\n" + FIRST_LOOP,
        ),
        ("        temp = np.empty_like(chunk[r])\n", "        temp = memory[: chunk[r].size]\n"),
    ),
    "large_receive_buffer": changed(
        RING,
        (
            "        temp = np.empty_like(chunk[r])\n",
            "        temp = np.empty(max(c.size for c in chunk), out.dtype)\n",
        ),
        (COMBINE, lines_of("chunk[r][:] = op(temp[: chunk[r].size], chunk[r])")),
    ),
    "prints_and_probes": changed(
        RING,
        (
            FIRST,
            lines_of(
                "request = comm.Isend(chunk[s], right)",
                "status = MPI.Status()",
                "comm.Probe(source=left, status=status)",
                "comm.Recv(temp, status.Get_source(), status.Get_tag())",
                "print('step', step, 'rank', rank)",
                "request.Wait()",
            ),
        ),
    ),
    "persistent": changed(
        RING,
        (
            FIRST,
            lines_of(
                "requests = [comm.Send_init(chunk[s], right), comm.Recv_init(temp, left)]",
                "MPI.Prequest.Startall(requests)",
                "MPI.Request.Waitall(requests)",
            ),
        ),
    ),
}

TREE = (
    HEAD
    + """\
def binomial_bcast(comm, buf, root):
    rank, size = comm.Get_rank(), comm.Get_size()
    relative = (rank - root) % size
    mask = 1
    while mask < size:
        if relative < mask:
            if relative + mask < size:
                comm.Send(buf, (rank + mask) % size, 3)
        elif relative < 2 * mask:
            comm.Recv(buf, (rank - mask) % size, 3)
        mask *= 2
"""
)

PAIRS = (
    HEAD
    + """\
def pairwise_alltoall(comm, sendbuf, recvbuf):
    rank, size = comm.Get_rank(), comm.Get_size()
    n = len(sendbuf) // size
    recvbuf[rank * n : (rank + 1) * n] = sendbuf[rank * n : (rank + 1) * n]
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        comm.Sendrecv(
            sendbuf[to * n : (to + 1) * n], to, 0,
            recvbuf[source * n : (source + 1) * n], source, 0,
        )
"""
)
