"""``mpicoll simulate``: the plans of an algorithm on a network that is not there."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence

from mpicoll.analysis.critical import Segment, critical_path, shares
from mpicoll.analysis.network import Network, NetworkError
from mpicoll.analysis.path import closed_form
from mpicoll.analysis.simulate import Simulation, SimulationError, simulate
from mpicoll.commands import CommandError, Exit
from mpicoll.commands.cost import check_ranks, chosen_network
from mpicoll.commands.prove import chosen_algorithms
from mpicoll.commands.units import (
    Progress,
    parse_bytes,
    parse_parameters,
    show_bytes,
    show_seconds,
    table,
    write_json,
)

__all__ = ["configure", "run"]

EXAMPLES = """\
The messages of all ranks run through the links of a network (latency, overheads, gap, bandwidth,
network cards shared by the ranks of a node, uplinks of leaf switches). Shown are the time of the
collective, the critical path, and what the links carry. The model: docs/simulation.md.

networks: laptop, ethernet-1g, ethernet-10g, ethernet-25g, infiniband, or a JSON file such as
  {"name": "mine", "ranks_per_node": 4, "links": 1, "cores": 8, "reduce": 1e-10, "copy": 1e-10,
   "intra": {"latency": 4e-7, "overhead": 4e-7, "per_byte": 1.2e-10, "duplex": false},
   "inter": {"latency": 1e-5, "overhead": 4e-6, "per_byte": 8.5e-10, "gap": 1e-6}}
in seconds, and seconds per byte.

examples:
  mpicoll simulate allreduce ring -p 64 --bytes 16M --network ethernet-10g
  mpicoll simulate allreduce ring -p 64 --bytes 16M --network infiniband --nodes 8
  mpicoll simulate bcast binomial -p 64 --bytes 8 --network mine.json --root 3 --path 20
  mpicoll simulate allreduce recursive_doubling -p 16384 --bytes 1k --network infiniband

exit status: 0, or 1 if the plans do not fit together, or 2 if an argument makes no sense
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("collective", metavar="COLLECTIVE")
    parser.add_argument("algorithm", metavar="ALGORITHM")
    parser.add_argument("-p", dest="size", type=int, required=True, metavar="P", help="ranks")
    parser.add_argument("--bytes", required=True, metavar="M", help="the whole vector: 8, 64k, 1M")
    parser.add_argument("--network", required=True, metavar="NAME|FILE", help="see below")
    parser.add_argument("--nodes", type=int, metavar="N", help="spread the ranks over N nodes")
    parser.add_argument(
        "--placement",
        choices=("block", "cyclic"),
        default="block",
        help="consecutive ranks on one node, or dealt out in turn (default: %(default)s)",
    )
    parser.add_argument("--root", type=int, default=0, metavar="R", help="default: 0")
    parser.add_argument(
        "--set", action="append", metavar="NAME=N", help="a parameter of the algorithm"
    )
    parser.add_argument(
        "--path", type=int, default=12, metavar="N", help="show N steps of the critical path"
    )
    parser.add_argument(
        "--most-messages",
        type=int,
        default=20_000_000,
        metavar="N",
        help="refuse to simulate more (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE (- = stdout)")


def run(args: argparse.Namespace) -> int:
    """Simulate one algorithm and print what happened."""
    check_ranks(args.size, args.root)
    (algorithm,) = chosen_algorithms(args.collective, args.algorithm)
    nbytes, chosen = parse_bytes(args.bytes), chosen_network(args.network)
    parameters = parse_parameters(args.set)
    root = args.root if algorithm.spec.rooted else 0
    tick, began = Progress(str(algorithm)), time.perf_counter()
    try:
        if args.nodes is not None:
            chosen = chosen.on(args.size, args.nodes)
        found = simulate(
            algorithm,
            args.size,
            nbytes,
            chosen,
            root=root,
            nodes=_cyclic(chosen, args.size) if args.placement == "cyclic" else None,
            limit=args.most_messages,
            progress=tick,
            **parameters,
        )
        closed = closed_form(
            algorithm, args.size, nbytes, chosen, root=root, **found.workload.parameters
        )
    except SimulationError as error:
        raise CommandError(str(error), Exit.FAILED) from None
    except (TypeError, ValueError, NetworkError) as error:
        raise CommandError(str(error)) from None
    finally:
        tick.clear()
    took = time.perf_counter() - began
    path = critical_path(found)
    _print(found, path, closed, took, args.path, sys.stderr if args.json == "-" else sys.stdout)
    if args.json:
        write_json(args.json, _as_json(found, path, closed, took))
    return Exit.OK


def _cyclic(chosen: Network, size: int) -> Sequence[int]:
    nodes = chosen.nodes(size)
    return [rank % nodes for rank in range(size)]


def _print(
    found: Simulation, path: list[Segment], closed: float, took: float, steps: int, out
) -> None:
    workload, network = found.workload, found.network
    nodes = len(set(found.nodes))
    print(
        f"{workload.algorithm} on {workload.size} ranks, {nodes} node{'s' * (nodes > 1)}, "
        f"m = {show_bytes(found.nbytes)}, {network.name}\n"
        f"  time         {show_seconds(found.seconds)}   (closed form {show_seconds(closed)})\n"
        f"  first, median, last rank through   {_spread(found.finish)}\n"
        f"  simulated    {workload.messages} messages in {took:.1f} s",
        file=out,
    )
    print("\ncritical path, by what the time is spent on", file=out)
    total = found.seconds or 1.0
    for name, seconds in shares(path).items():
        print(f"  {name:<9} {show_seconds(seconds):>10}  {100 * seconds / total:5.1f} %", file=out)
    if path and steps > 0:
        shown = path if len(path) <= steps else path[: steps - steps // 2] + path[-(steps // 2) :]
        print(f"\nits steps ({len(shown)} of {len(path)})", file=out)
        head = ["step", "round", "from", "to", "bytes", "waiting"]
        print(table(head, [_step(segment) for segment in shown]), file=out)
    print("\ntraffic", file=out)
    for name, (messages, nbytes) in found.traffic.items():
        if messages:
            print(f"  {_FAR[name]:<24} {messages:>9} messages  {show_bytes(nbytes)}", file=out)
    busiest: dict[str, tuple] = {}
    for name, nbytes in found.links.items():
        if nbytes > busiest.get(name[0], (0.0,))[0]:
            busiest[name[0]] = (nbytes, name[1:])
    for kind, (nbytes, where) in busiest.items():
        place = ".".join(map(str, where))
        print(f"  busiest {kind:<16} {place:>9}           {show_bytes(nbytes)}", file=out)


_FAR = {
    "node": "within nodes",
    "switch": "between nodes (local)",
    "global": "between switches (global)",
}


def _spread(finish: list[float]) -> str:
    ordered = sorted(finish)
    chosen = (ordered[0], ordered[len(ordered) // 2], ordered[-1])
    return ", ".join(map(show_seconds, chosen))


def _step(segment: Segment) -> list[str]:
    what = {
        "message": f"message to rank {segment.peer}",
        "send": f"until sent to rank {segment.peer}",
        "post": "posting and taking in",
        "local": "combining and copying",
    }[segment.kind]
    return [
        f"rank {segment.rank}: {what}",
        str(segment.round),
        show_seconds(segment.start),
        show_seconds(segment.end),
        show_bytes(segment.nbytes) if segment.kind != "post" else "",
        show_seconds(segment.waiting) if segment.waiting > 1e-12 else "",
    ]


def _as_json(found: Simulation, path: list[Segment], closed: float, took: float) -> dict:
    workload = found.workload
    parameters = {k: v for k, v in workload.parameters.items() if k != "nodes"}
    return {
        "collective": workload.algorithm.collective,
        "algorithm": workload.algorithm.name,
        "size": workload.size,
        "root": workload.root,
        "bytes": found.nbytes,
        "parameters": parameters,
        "network": dataclasses.asdict(found.network),
        "nodes": list(found.nodes),
        "seconds": found.seconds,
        "closed_form": closed,
        "finish": found.finish,
        "shares": shares(path),
        "critical_path": [segment.as_json() for segment in path],
        "traffic": {k: {"messages": n, "bytes": b} for k, (n, b) in found.traffic.items()},
        "links": {" ".join(map(str, name)): nbytes for name, nbytes in found.links.items()},
        "messages": workload.messages,
        "simulated_in": round(took, 3),
    }
