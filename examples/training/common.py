"""What the programs of this folder share: arguments, groups that count, checks, the printed report.

    run = common.start(__doc__, argv, comm, steps=5, width=12)   # every keyword is an option
    mesh = run.mesh(tensor=2, data=-1)                           # mpicoll.mesh, usage errors said
    tensor = run.group(mesh.comm("tensor"), "tensor")            # a counting communicator
    ...
    run.expect("Allreduce", tensor, nbytes, "2(P-1)/P M", calls=1)
    run.check("weights", mine, reference, 1e-12, common.ORDER)
    return run.finish(loss=losses)                               # prints, and says if all was right

A program is ``main(argv=None, comm=None)`` that returns what `finish` returns, and ends with
``common.script(main)``. Random numbers come from `run.random`, the same on every rank.
"""

import argparse
import sys
import traceback
from fractions import Fraction

import numpy as np
from counting import Group, Traffic, everybody
from mpi4py import MPI

import mpicoll
from mpicoll.commands.units import table, write_json
from mpicoll.execution import native
from mpicoll.mesh import Mesh, MeshError

__all__ = ["ADAM", "ORDER", "Run", "everything", "moved", "script", "share", "start"]

# Reasons of tolerances.
ORDER = "sums in another order"
# Where a gradient is about 0, Adam divides rounding errors by rounding errors, plus 1e-8.
ADAM = "the same, and Adam divides by gradients"


def everything(P, nbytes):
    """Bytes that a rank sends on average in an AllReduce of `nbytes`: 2 (P-1)/P of them."""
    return 2 * moved(P, nbytes)


def moved(P, nbytes):
    """Bytes that a rank sends on average in the other collectives: (P-1)/P of `nbytes`.

    `nbytes` is the whole: for AllGather all blocks together, for ReduceScatter, Reduce and
    Broadcast one rank's vector, for AllToAll what one rank has for all. Of the blocks of Scatter
    and Gather, which only one rank sends or gets, it is another P times less.
    """
    return Fraction(P - 1, P) * nbytes


def share(length, P, rank):
    """The slice of `length` items that belongs to `rank`: the first ones are longer by one.

    >>> [share(10, 4, rank) for rank in range(4)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None), slice(8, 10, None)]
    """
    whole, rest = divmod(length, P)
    begin = rank * whole + min(rank, rest)
    return slice(begin, begin + whole + (rank < rest))


class Parser(argparse.ArgumentParser):
    """Arguments of a program that every rank reads and rank 0 alone speaks about."""

    speaks = True

    def _print_message(self, message, file=None):
        if self.speaks:
            super()._print_message(message, file)


class Run:
    """One run of a program: its arguments, its ranks, and what will be reported.

    `args` has the options, `comm` is a communicator of mpicoll's (of MPI's own with ``--native``),
    `world` the same as a group that counts. `rank` and `size` are those of `comm`.
    """

    def __init__(self, parser, args, comm):
        self.parser, self.args, self.comm = parser, args, comm
        self.name = parser.prog
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.random = np.random.default_rng(args.seed)
        self.traffic, self.world = Traffic(), None
        self.expected, self.checks, self.meshes, self.made = {}, [], [], []
        # Reports and verdicts travel apart, so that they are not counted.
        self.apart = native.Intracomm(comm).Dup()
        self.world = self.group(comm, "all")

    def usage(self, message):
        """End the program on all ranks, saying what is wrong with its arguments."""
        self.traffic.close()
        self.parser.error(message)

    def mesh(self, order=None, **sizes):
        """A `mpicoll.mesh.Mesh` of all ranks; sizes that do not fit are an error of usage."""
        try:
            mesh = Mesh(self.comm, **sizes, **({"order": order} if order else {}))
        except MeshError as error:
            self.usage(str(error))
        self.meshes.append(mesh)
        return mesh

    def keep(self, comm):
        """Give `comm` back, and free it when the run ends; in the same order on all its ranks."""
        self.made.append(comm)
        return comm

    def group(self, comm, name):
        """A communicator whose traffic is counted under `name`; once for every communicator."""
        return Group(comm, name, self.traffic)

    def say(self, *words):
        """Print on rank 0, unless JSON goes there."""
        if self.rank == 0 and self.args.json != "-":
            print(*words, flush=True)

    def expect(self, primitive, group, nbytes, formula, calls=None):
        """State what a primitive should send in a group (of that name): add to what was stated.

        `nbytes` is the average over all ranks of the program, an integer or Fraction; `formula` is
        its text. `calls`, where given, are those of the rank with the most.
        """
        row = primitive, group if isinstance(group, str) else group.name
        _, before, calls_before = self.expected.get(row, ("", 0, 0))
        total = None if calls is None or calls_before is None else calls + calls_before
        self.expected[row] = formula, before + Fraction(nbytes), total

    def check(self, what, mine, reference, tolerance, why):
        """Compare with the reference: the largest difference over the largest number in it.

        Both are an array or a dictionary of arrays. Any rank may check what it has, but all ranks
        the same things in the same order. `why` is the reason of the tolerance.
        """
        error, mine, reference = np.inf, _vector(mine), _vector(reference)
        if mine.shape == reference.shape:
            scale = max(np.abs(reference).max(initial=0), np.finfo(float).tiny)
            error = float(np.abs(mine - reference).max(initial=0) / scale)
        self.checks.append((what, error, tolerance, why))

    def finish(self, **results):
        """Report, and give what was found on every rank; collective.

        A dictionary: `passed`, `checks`, `traffic` (a list of rows) and the given results, which
        are rank 0's. Communicators of the run are freed.
        """
        report = {
            "program": self.name,
            "ranks": self.size,
            "collectives": "native" if self.args.native else "mpicoll",
            "checks": self._verdicts(),
            "traffic": self._traffic(),
            **results,
        }
        lines = [*report["checks"], *report["traffic"]]
        report["passed"] = bool(report["checks"]) and all(line["passed"] for line in lines)
        report = self.apart.bcast(report)
        if self.rank == 0:
            self._print(report)
        self.traffic.close()
        for mesh in self.meshes:
            mesh.free()
        for comm in self.made:
            comm.Free()
        self.apart.Free()
        self.comm.Free()
        return report

    def _verdicts(self):
        found = []
        for lines in zip(*self.apart.allgather(self.checks), strict=True):
            what, _, tolerance, why = lines[0]
            # Not max(): NaN must fail.
            error = float(np.max([error for _, error, _, _ in lines]))
            passed = len({line[0] for line in lines}) == 1 and error <= tolerance
            found.append(
                {"what": what, "error": error, "tolerance": tolerance, "why": why, "passed": passed}
            )
        return found

    def _traffic(self):
        found, counted = [], everybody(self.traffic, self.apart)
        for row in dict.fromkeys([*counted, *self.expected]):
            calls, messages, nbytes, most = counted.get(row, (0, 0, 0, 0))
            formula, expected, expected_calls = self.expected.get(row, ("not foreseen", None, None))
            visible = not self.args.native or row[0] in ("Send", "Sendrecv")
            mean = Fraction(nbytes, self.size)
            passed = expected is not None and (not visible or mean == expected)
            found.append(
                {
                    "primitive": row[0],
                    "group": row[1],
                    "calls": calls,
                    "messages": messages if visible else None,
                    "bytes": float(mean) if visible else None,
                    "most": most if visible else None,
                    "expected": None if expected is None else float(expected),
                    "formula": formula,
                    "passed": passed and expected_calls in (None, calls),
                }
            )
        return found

    def _print(self, report):
        if self.args.json:
            write_json(self.args.json, report)
        if self.args.json == "-":
            return
        mark = {True: "ok", False: "WRONG"}
        print(f"\n{self.name}: {self.size} ranks, collectives of {report['collectives']}")
        head = ["primitive", "group", "calls", "messages", "bytes/rank", "busiest", "formula"]
        rows = [
            [
                line["primitive"],
                line["group"],
                str(line["calls"]),
                *(_number(line[name]) for name in ("messages", "bytes", "most", "expected")),
                _ratio(line),
                line["formula"],
                mark[line["passed"]],
            ]
            for line in report["traffic"]
        ]
        if rows:
            print(table([*head, "ratio", "", ""], rows, left=2))
        head = ["against one process", "error", "allowed", "", ""]
        rows = [
            [
                line["what"],
                f"{line['error']:.1e}",
                f"{line['tolerance']:.0e}",
                line["why"],
                mark[line["passed"]],
            ]
            for line in report["checks"]
        ]
        print(table(head, rows))


def _vector(arrays):
    """All numbers in a row, those of a dictionary in the order of its names."""
    if isinstance(arrays, dict):
        found = [_vector(arrays[name]) for name in sorted(arrays)]
        return np.concatenate(found) if found else np.empty(0)
    return np.asarray(arrays, float).ravel()


def _number(value):
    return "?" if value is None else f"{value:.10g}"


def _ratio(line):
    if line["bytes"] is None or line["expected"] is None:
        return "?"
    if not line["expected"]:
        return "1.000" if not line["bytes"] else "inf"
    return f"{line['bytes'] / line['expected']:.3f}"


def start(doc, argv=None, comm=None, **options):
    """Read the arguments and make the communicators: a `Run`; collective on `comm` (the world).

    `options` are further arguments and their defaults: ``width=12`` becomes ``--width``.
    """
    comm = MPI.COMM_WORLD if comm is None else comm
    name, rest = doc.split("\n", 1)[0], doc.split("\n", 1)[-1].strip("\n")
    parser = Parser(
        description=f"{name}\n\n{rest}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.speaks = comm.Get_rank() == 0
    defaults = {"steps": 5, "seed": 0, **options}
    for option, default in defaults.items():
        parser.add_argument(
            f"--{option.replace('_', '-')}",
            type=type(default),
            default=default,
            metavar=type(default).__name__[0].upper(),
            help=f"default {default}",
        )
    parser.add_argument("--native", action="store_true", help="use MPI's own collectives")
    parser.add_argument("--json", metavar="FILE", help="write the report to FILE (- = stdout)")
    args = parser.parse_args(argv)
    comm = native.Intracomm(comm).Dup()
    return Run(parser, args, comm if args.native else mpicoll.Intracomm(comm))


def script(main):
    """Run a program; its exit status is 0 if everything was right, 1 if not.

    What is raised on one rank ends all of them.
    """
    try:
        report = main()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
        raise
    sys.exit(not report["passed"])
