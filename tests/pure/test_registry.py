"""The registry: declarations, plans, and errors that say what was expected."""

import subprocess
import sys

import pytest

from mpicoll import registry
from mpicoll.registry import RequirementError, algorithm, algorithms_of, collectives, find
from mpicoll.spec import SPECS
from mpicoll.steps import Copy, Input, Output, Recv, Send

EVERY = [each for name in collectives() for each in algorithms_of(name)]


def test_every_collective_has_an_algorithm_for_every_size():
    assert set(collectives()) == set(SPECS)
    for name in collectives():
        assert any(not each.requires for each in algorithms_of(name)), name


@pytest.mark.parametrize("each", EVERY, ids=str)
def test_an_algorithm_is_documented(each):
    assert each.summary.endswith(".")
    assert len(each.source.splitlines()) < 80


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown collective 'allredcue'.*allreduce"):
        algorithms_of("allredcue")
    with pytest.raises(ValueError, match=r"has no algorithm 'rign'; it has: ring"):
        find("allreduce", "rign")


def test_requirements_are_named():
    with pytest.raises(RequirementError, match=r"power of two \(power_of_two\).*These can: ring"):
        find("allgather", "recursive_doubling").plan(0, 6)
    assert find("allreduce", "ring").unmet(6, commutative=False) == ["commutative"]


def test_plans_are_cached_and_spelled_out():
    linear = find("bcast", "linear")
    assert linear.plan(1, 3, 0) is linear.plan(1, 3, 0)
    assert linear.plan(1, 3, 0) == ((Recv(0, Output[0:1]),),)


@pytest.mark.parametrize(("rank", "size", "root"), [(4, 4, 0), (-1, 4, 0), (0, 4, 4), (0, 4, -1)])
def test_impossible_ranks_are_refused(rank, size, root):
    with pytest.raises(ValueError, match=r"must be in 0\.\.3"):
        find("bcast", "linear").plan(rank, size, root)


def test_parameters_are_checked():
    ring = find("allreduce", "ring")
    with pytest.raises(TypeError, match="has no parameter 'radix'"):
        ring.plan(0, 4, radix=2)


@pytest.fixture
def swap():
    """An algorithm that is registered for the time of a test."""

    @algorithm("allgather", rounds="1", volume="m/2", requires=("power_of_two",))
    def swap(rank, size):
        """Both hand their block to the other."""
        yield Copy(Input[rank], Output[rank])
        if size == 2:
            yield Send(1 - rank, Output[rank]), Recv(1 - rank, Output[1 - rank])

    yield swap
    registry.forget("allgather", "swap")


def test_a_decorated_function_is_an_algorithm(swap):
    assert find("allgather", "swap") is swap
    assert swap.claims(2, {}) == (1, 0.5, 0)
    with pytest.raises(ValueError, match="has an algorithm 'swap' already"):
        algorithm("allgather", rounds="1", volume="m")(swap.generate)


def test_what_is_not_a_step_is_refused(swap):
    broken = registry.Algorithm(
        "allgather", "broken", lambda rank, size: iter([5]), "1", "m", "0", "none", "P"
    )
    with pytest.raises(TypeError):
        broken.plan(0, 2)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"order": "sorted"}, "makes no sense"),
        ({"order": "rank"}, "makes no sense"),
        ({"requires": ("odd_size",)}, "unknown requirement 'odd_size'"),
    ],
)
def test_senseless_declarations_are_refused(declaration, message):
    with pytest.raises(ValueError, match=message):
        algorithm("allgather", rounds="1", volume="m", **declaration)


def test_neither_mpi_nor_numpy_is_imported():
    code = (
        "import sys, mpicoll, mpicoll.registry, mpicoll.analysis.sweep, mpicoll.commands.prove\n"
        "mpicoll.registry.collectives()\n"
        "sys.exit(bool({'mpi4py', 'mpi4py.MPI', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
