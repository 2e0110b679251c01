"""``mpicoll why``: which algorithm a call gets, and why."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys

from mpicoll.analysis.explain import Explanation, explain
from mpicoll.analysis.network import Network, NetworkError
from mpicoll.commands import CommandError, Exit
from mpicoll.commands.cost import check_ranks, chosen_network
from mpicoll.commands.units import (
    Progress,
    parse_bytes,
    show_bytes,
    show_seconds,
    table,
    write_json,
)
from mpicoll.registry import collectives
from mpicoll.selection import SELECTORS, wished

__all__ = ["configure", "run"]

#: MPI's own operations; all of them commute.
OPERATIONS = "SUM PROD MAX MIN LAND LOR LXOR BAND BOR BXOR MAXLOC MINLOC".split()

EXAMPLES = """\
Names the algorithm that a call gets, the rule by which it gets it, what each algorithm would take
on a network, and which ones cannot be used for want of what. The rules themselves are fixed: they
do not look at the network, which is there to judge them.

examples:
  mpicoll why allreduce -p 64 --bytes 1M
  mpicoll why allreduce -p 48 --bytes 64k --network infiniband --nodes 12
  mpicoll why reduce_scatter -p 12 --bytes 1M --not-commutative
  mpicoll why alltoall -p 16 --bytes 1M --unequal-blocks --selector mpich

MPICOLL_ALLREDUCE=ring in the environment asks for an algorithm (likewise for each collective), and
MPICOLL_SELECTOR=mpich for the rules of another library; they count when a kind of call occurs for
the first time.

exit status: 0, or 1 if the rules have no algorithm for the call, or 2 if an argument makes no sense
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("collective", metavar="COLLECTIVE")
    parser.add_argument("-p", dest="size", type=int, required=True, metavar="P", help="ranks")
    parser.add_argument(
        "--bytes", default="0", metavar="M", help="the whole vector, or all blocks: 8, 64k, 1M"
    )
    order = parser.add_mutually_exclusive_group()
    order.add_argument("--op", metavar="OP", help=f"an operation of MPI: {', '.join(OPERATIONS)}")
    order.add_argument("--not-commutative", action="store_true", help="an operation that does not")
    parser.add_argument("--unequal-blocks", action="store_true", help="as in Scatterv, Alltoallv")
    parser.add_argument(
        "--selector", choices=tuple(SELECTORS), help="whose rules (default: MPICOLL_SELECTOR)"
    )
    parser.add_argument(
        "--network", default="ethernet-10g", metavar="NAME|FILE", help="(default: %(default)s)"
    )
    parser.add_argument("--nodes", type=int, metavar="N", help="spread the ranks over N nodes")
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE (- = stdout)")


def run(args: argparse.Namespace) -> int:
    """Explain the choice for one call."""
    check_ranks(args.size, 0)
    if args.collective not in collectives():
        known = ", ".join(collectives())
        raise CommandError(f"unknown collective {args.collective!r}: expected one of {known}")
    if args.op is not None and args.op.upper() not in OPERATIONS:
        raise CommandError(
            f"{args.op!r} is no operation of MPI's: {', '.join(OPERATIONS)}. For one of your own: "
            "--not-commutative, or nothing if it commutes"
        )
    nbytes, chosen = parse_bytes(args.bytes), chosen_network(args.network)
    selector = args.selector or os.environ.get("MPICOLL_SELECTOR") or "mpicoll"
    tick = Progress(args.collective)
    try:
        if args.nodes is not None:
            chosen = chosen.on(args.size, args.nodes)
        found = explain(
            selector,
            args.collective,
            args.size,
            nbytes,
            chosen,
            commutative=not args.not_commutative,
            equal_blocks=not args.unequal_blocks,
            progress=tick,
        )
    except (ValueError, NetworkError) as error:
        raise CommandError(str(error)) from None
    finally:
        tick.clear()
    _print(args, nbytes, chosen, found, sys.stderr if args.json == "-" else sys.stdout)
    if args.json:
        write_json(args.json, _as_json(args, nbytes, chosen, found))
    return Exit.OK if found.verdict.algorithm else Exit.FAILED


def _print(args: argparse.Namespace, nbytes: int, chosen: Network, found: Explanation, out) -> None:
    call = [f"{args.collective} of {show_bytes(nbytes)} on {args.size} ranks"]
    call += ["an operation that does not commute"] if args.not_commutative else []
    call += ["unequal blocks"] if args.unequal_blocks else []
    print(", ".join(call), file=out)
    mine = found.verdict
    for verdict in (mine, *found.others):
        says = f"{verdict.algorithm}: {verdict.reason}" if verdict.algorithm else verdict.reason
        print(f"  {verdict.selector:<8} {'nothing: ' * (not verdict.algorithm)}{says}", file=out)
    wish = wished(args.collective)
    if wish:
        print(
            f"  but MPICOLL_{args.collective.upper()}={wish} is set, and calls get that", file=out
        )
    usable = [candidate for candidate in found.candidates if candidate.seconds is not None]
    if usable:
        how = "simulated" if usable[0].simulated else "closed form"
        print(f"\non {chosen.name}, {chosen.nodes(args.size)} nodes ({how})", file=out)
        best = usable[0].seconds or 1.0
        names = {mine.algorithm: mine.selector}
        for verdict in found.others:
            if verdict.algorithm:
                names[verdict.algorithm] = ", ".join(
                    filter(None, [names.get(verdict.algorithm), verdict.selector])
                )
        rows = [
            [
                candidate.algorithm,
                show_seconds(candidate.seconds),
                f"{candidate.seconds / best:.2f}",
                f"<- {names[candidate.algorithm]}" if candidate.algorithm in names else "",
            ]
            for candidate in usable
        ]
        print(table(["algorithm", "time", "/best", ""], rows), file=out)
    for candidate in found.candidates:
        if candidate.unmet:
            reasons = "; ".join(candidate.unmet)
            print(f"cannot be used: {candidate.algorithm}: {reasons}", file=out)


def _as_json(
    args: argparse.Namespace, nbytes: int, chosen: Network, found: Explanation
) -> dict[str, object]:
    return {
        "collective": args.collective,
        "size": args.size,
        "bytes": nbytes,
        "commutative": not args.not_commutative,
        "equal_blocks": not args.unequal_blocks,
        "wished": wished(args.collective),
        "network": chosen.as_json(),
        **dataclasses.asdict(found),
    }
