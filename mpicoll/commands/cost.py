"""``mpicoll cost``: what algorithms cost, as declared, as counted, and at least."""

from __future__ import annotations

import argparse
import sys

from mpicoll.analysis.bounds import BOUNDS
from mpicoll.analysis.cost import Cost, Model, cost
from mpicoll.analysis.network import Network, NetworkError, network
from mpicoll.commands import CommandError, Exit
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
from mpicoll.registry import Algorithm

__all__ = ["configure", "run"]

#: Plans are counted up to this many ranks unless --count says otherwise.
MOST_COUNTED = 128

EXAMPLES = f"""\
Costs are those of the busiest rank: rounds, bytes sent and bytes combined, as parts of m, next to
the lower bound of the collective. "126 = 126" is declared = counted from the plans of all ranks;
beyond {MOST_COUNTED} ranks only what is declared is shown, so any number of ranks will do.

  time   alpha rounds + beta sent + gamma combined, of the busiest rank
  chain  the same along the longest chain of messages, where ranks wait for each other in turn
  least  that of the lower bounds

examples:
  mpicoll cost allreduce -p 64 --bytes 1M
  mpicoll cost allreduce ring -p 1000000 --bytes 1G --network infiniband
  mpicoll cost bcast pipelined -p 8 --bytes 16M --set segments=64 --network mine.json
  mpicoll cost -p 16 --bytes 64k --json costs.json

exit status: 0, or 1 if a count is not what is declared, or 2 if an argument makes no sense
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("collective", nargs="?", metavar="COLLECTIVE", help="default: all")
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="default: all")
    parser.add_argument("-p", dest="size", type=int, required=True, metavar="P", help="ranks")
    parser.add_argument("--bytes", required=True, metavar="M", help="the whole vector: 8, 64k, 1M")
    parser.add_argument(
        "--network",
        default="ethernet-10g",
        metavar="NAME|FILE",
        help="laptop, ethernet-1g, ethernet-10g, ethernet-25g, infiniband, or a JSON file "
        "(default: %(default)s)",
    )
    parser.add_argument("--root", type=int, default=0, metavar="R", help="default: 0")
    parser.add_argument(
        "--set", action="append", metavar="NAME=N", help="a parameter of the algorithm"
    )
    parser.add_argument(
        "--count",
        action=argparse.BooleanOptionalAction,
        help=f"count the plans, or do not (default: up to {MOST_COUNTED} ranks)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE (- = stdout)")


def chosen_network(name: str) -> Network:
    """The network that the command line names."""
    try:
        return network(name)
    except NetworkError as error:
        raise CommandError(str(error)) from None


def check_ranks(size: int, root: int) -> None:
    """Refuse numbers of ranks and roots that cannot be."""
    if not 1 <= size <= 10**7:
        raise CommandError(f"the number of ranks must be in 1..{10**7}, not {size}")
    if not 0 <= root < size:
        raise CommandError(f"root must be in 0..{size - 1}, not {root}")


def run(args: argparse.Namespace) -> int:
    """Print the costs of the algorithms that serve so many ranks."""
    check_ranks(args.size, args.root)
    nbytes, chosen = parse_bytes(args.bytes), chosen_network(args.network)
    parameters = parse_parameters(args.set)
    if parameters and not args.algorithm:
        raise CommandError("--set needs the name of an algorithm")
    algorithms = chosen_algorithms(args.collective, args.algorithm)
    count = args.size <= MOST_COUNTED if args.count is None else args.count
    served = [a for a in algorithms if not set(a.unmet(args.size)) - {"commutative"}]
    out = sys.stderr if args.json == "-" else sys.stdout
    try:
        costs = [_cost(a, args, nbytes, chosen, parameters, count) for a in served]
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from None
    _print(costs, args.size, nbytes, chosen, out)
    for algorithm in algorithms:
        if algorithm not in served:
            needs = ", ".join(algorithm.unmet(args.size))
            print(f"not on {args.size} ranks: {algorithm} requires {needs}", file=out)
    if args.json:
        model = Model.of(chosen, args.size)._asdict()
        write_json(
            args.json,
            {
                "size": args.size,
                "bytes": nbytes,
                "root": args.root,
                "network": chosen.as_json(),
                "model": model,
                "costs": [found.as_json() for found in costs],
            },
        )
    return Exit.OK if all(found.agrees for found in costs) else Exit.FAILED


def _cost(
    algorithm: Algorithm,
    args: argparse.Namespace,
    nbytes: int,
    chosen: Network,
    parameters: dict[str, int],
    count: bool,
) -> Cost:
    tick = Progress(str(algorithm))
    root = args.root if algorithm.spec.rooted else 0
    try:
        return cost(
            algorithm,
            args.size,
            nbytes,
            chosen,
            root=root,
            parameters=parameters,
            count=count,
            progress=tick,
        )
    finally:
        tick.clear()


def _print(costs: list[Cost], size: int, nbytes: int, chosen: Network, out) -> None:
    model = Model.of(chosen, size)
    print(
        f"P = {size}, m = {show_bytes(nbytes)}, {chosen.name}: alpha {show_seconds(model.alpha)}, "
        f"beta {model.beta * 1e9:.4g} ns/B, gamma {model.gamma * 1e9:.4g} ns/B",
        file=out,
    )
    head = ["algorithm", "rounds", "/least", "sent/m", "/least", "combined/m", "/least"]
    head += ["time", "chain"]
    for name in dict.fromkeys(found.algorithm.collective for found in costs):
        family = [found for found in costs if found.algorithm.collective == name]
        least, bound = family[0].least, BOUNDS[name]
        cites = f" [{bound.cites}]" if bound.cites else ""
        print(
            f"\n{name}: at least {least.rounds} rounds, {least.sent:.4g} m sent "
            f"({bound.because}), {least.combined:.4g} m combined: "
            f"{show_seconds(family[0].least_seconds)}{cites}",
            file=out,
        )
        print(table(head, [_row(found) for found in family]), file=out)


def _row(found: Cost) -> list[str]:
    cells = [found.algorithm.name]
    counted = found.counted or (None,) * 3
    for declared, seen, ratio in zip(found.declared, counted, found.ratios, strict=True):
        text = f"{declared:.4g}" if isinstance(declared, float) else str(declared)
        if seen is not None:
            same = abs(declared - seen) <= 1e-9 * max(1, abs(declared))
            text += " = " if same else " != "
            text += f"{seen:.4g}" if isinstance(seen, float) else str(seen)
        cells += [text, "-" if ratio is None else f"{ratio:.2f}"]
    return [*cells, show_seconds(found.seconds), show_seconds(found.path_seconds)]
