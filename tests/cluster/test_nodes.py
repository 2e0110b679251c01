"""Algorithms for several nodes on real ones."""

import json

import pytest
from cluster import Cluster

MIB = 1 << 20
LAYOUTS = [(4, 1), (2, 2), (2, 3), (2, [1, 3]), (3, [1, 3, 2])]

#: Bytes that each host must send, as parts of the vector, over the network of 2 nodes of 2 ranks.
TRAFFIC = {"hierarchical": 1.0, "lane": 1.0, "ring": 1.5, "recursive_doubling": 2.0}

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
import mpicoll
from mpicoll.nodes import nodes_of

ours = mpicoll.Intracomm(MPI.COMM_WORLD)
total = np.empty(1 << 20, "i4")
for _ in range(4):
    ours.Allreduce(np.full(1 << 20, ours.rank, "i4"), total, algorithm=sys.argv[1])
assert (total == sum(range(ours.size))).all()
if ours.rank == 0:
    print(nodes_of(ours))
"""


@pytest.mark.parametrize("algorithm, parts", TRAFFIC.items())
def test_the_traffic_is_that_of_the_plan(pair, tmp_path, algorithm, parts):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    before = pair.traffic()
    done = pair.run(4, str(program), algorithm, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "(0, 0, 1, 1)\n"
    after = pair.traffic()
    planned = 4 * parts * 4 * MIB
    for host in pair.names:
        # Headers, acknowledgements and the launcher add some.
        assert planned < after[host].sent - before[host].sent < 1.12 * planned + MIB


@pytest.mark.big
@pytest.mark.parametrize("hosts, slots", LAYOUTS)
def test_the_whole_catalogue(possible, tmp_path, hosts, slots):
    file = tmp_path / "check.json"
    with Cluster(hosts, slots) as cluster:
        size = str(cluster.size)
        done = cluster.mpicoll("check", "-n", size, "--json", str(file), timeout=1800)
        assert done.returncode == 0, done.stdout + done.stderr
        facts = json.loads(file.read_text())["sizes"][0]
        assert min(traffic.sent for traffic in cluster.traffic().values()) > MIB
    assert facts["failed"] == 0
    names = {(each["collective"], each["algorithm"]) for each in facts["results"] if each["cases"]}
    assert len(names) > 80 and ("allreduce", "hierarchical") in names
