"""Collectives without end, until one rank has a fault: `program.py FAULT [FILE]`."""

import os
import signal
import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import mpicoll

fault = sys.argv[1]
comm = mpicoll.Intracomm(MPI.COMM_WORLD)
culprit = comm.size - 1
values, total = np.ones(200_000), np.empty(200_000)


def later(number):
    """Send this process a signal in mid-collective."""
    time.sleep(1)
    os.kill(os.getpid(), number)


def raising(x, y):
    if comm.rank == culprit:
        raise ArithmeticError(f"no sum of {x} and {y}")
    return x + y


def raising_on_buffers(x, y, datatype):
    raise ArithmeticError("no sum of these")


for _ in range(10):
    comm.Allreduce(values, total)
if len(sys.argv) > 2 and comm.rank == 0:
    open(sys.argv[2], "w").close()  # from here on there may be a fault
if fault in ("kill", "stop") and comm.rank == culprit:
    number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[fault]
    threading.Thread(target=later, args=(number,), daemon=True).start()
if fault == "object operation":
    comm.allreduce(comm.rank, op=raising)
if fault == "operation":
    operation = MPI.Op.Create(raising_on_buffers)
    comm.Allreduce(values, total, op=operation)
while True:
    comm.Allreduce(values, total)
    comm.Barrier()
