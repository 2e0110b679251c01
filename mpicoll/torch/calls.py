"""From torch's arguments to calls of mpicoll, one function for each collective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpi4py import MPI
from torch import Tensor
from torch.distributed import ReduceOp

from mpicoll.execution import moving, reducing
from mpicoll.execution.calls import Call
from mpicoll.execution.state import State
from mpicoll.torch.lists import (
    all_same,
    apart,
    in_a_row,
    key_of,
    keys_of,
    own_block,
    piece_size,
    results,
    same_size,
    splits,
)
from mpicoll.torch.reductions import operation, premultiplied
from mpicoll.torch.tensors import Back, block, blocks, numbers, operand, overlap, result

__all__ = ["Caller", "Prepared"]

#: Calls that are kept, so that those on the same memory need not be read again.
MOST_CALLS = 1024


class Prepared(NamedTuple):
    """A call, what is to be done with its result, and the memory that it needs meanwhile.

    `given`: the bytes that this rank gives, where the call does not know those of all ranks.
    """

    call: Call
    back: Back
    keep: tuple
    given: int = 0

    @property
    def nbytes(self) -> int:
        """What an account counts as the bytes of the tensors."""
        return self.given if self.call.nbytes is None else self.call.nbytes


class Caller:
    """Reads calls for one communicator."""

    def __init__(self, state: State) -> None:
        self.state, self.rank, self.size = state, state.rank, state.size
        self._calls: dict[tuple, Call] = {}

    def _read(self, read: Callable[..., Call], key: tuple, arguments: Callable[[], tuple]) -> Call:
        """The call that `read` makes of arguments, or of the same ones before.

        Calls refer to memory by address only, and `key` has all that they depend on.
        """
        call = self._calls.get(key)
        if call is None:
            if len(self._calls) >= MOST_CALLS:
                self._calls.clear()
            call = self._calls[key] = read(self.rank, self.size, *arguments())
        return call

    def barrier(self) -> Prepared:
        """Wait for everyone."""
        return Prepared(self._read(moving.barrier, ("barrier",), tuple), None, ())

    def broadcast(self, tensor: Tensor, root: int) -> Prepared:
        """The root's tensor everywhere."""
        place, back = result(tensor, read=self.rank == root)
        back = None if self.rank == root else back
        key = ("bcast", root, *key_of(place))
        call = self._read(moving.bcast, key, lambda: (block(place), root))
        return Prepared(call, back, (tensor, place))

    def allreduce(self, tensor: Tensor, op: ReduceOp) -> Prepared:
        """All ranks' tensors combined, in place."""
        place, back = result(tensor, read=True)
        premultiplied(op, place, spoil=True)
        mpi_op = operation(op, place.dtype)
        key = ("allreduce", id(mpi_op), *key_of(place))
        call = self._read(reducing.allreduce, key, lambda: (MPI.IN_PLACE, numbers(place), mpi_op))
        return Prepared(call, back, (tensor, place))

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> Prepared:
        """All ranks' tensors combined at the root, in place; elsewhere they stay as they are."""
        back = None
        if self.rank == root:
            place, back = result(tensor, read=True)
            place = premultiplied(op, place, spoil=True)
        else:
            place = premultiplied(op, operand(tensor), spoil=False)
        mpi_op = operation(op, place.dtype)
        key = ("reduce", id(mpi_op), root, *key_of(place))

        def arguments() -> tuple:
            own = numbers(place)
            buffers = (MPI.IN_PLACE, own) if self.rank == root else (own, None)
            return (*buffers, mpi_op, root)

        call = self._read(reducing.reduce, key, arguments)
        return Prepared(call, back, (tensor, place))

    def allgather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Prepared:
        """Every rank's tensor in its place of `outputs`, the sizes of which may differ."""
        places, back = results(outputs, self.size, "all_gather")
        own = apart(operand(tensor), places, stays=places[self.rank])
        same_size(own, places[self.rank], "all_gather")
        key = ("allgather", *key_of(own), *keys_of(places))
        call = self._read(
            moving.allgather, key, lambda: (own_block(own, places), blocks(places), True)
        )
        return Prepared(call, back, (own, places, tensor))

    def allgather_whole(self, output: Tensor, tensor: Tensor) -> Prepared:
        """Every rank's tensor, one behind the other in `output`."""
        place, back = result(output)
        if place.numel() != tensor.numel() * self.size:
            raise ValueError(
                f"all_gather: the output has {place.numel()} elements, expected {self.size} times "
                f"{tensor.numel()}"
            )
        pieces = place.view(-1).tensor_split(self.size)
        own = apart(operand(tensor), [place], stays=pieces[self.rank])
        key = ("allgather", *key_of(own), *key_of(place))
        call = self._read(
            moving.allgather, key, lambda: (own_block(own, pieces), block(place)[0], False)
        )
        return Prepared(call, back, (own, place, output, tensor))

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Prepared:
        """Every rank's tensor at the root, one in each of `outputs`."""
        own, back = operand(tensor), None
        if self.rank != root:
            key = ("gather", root, *key_of(own))
            call = self._read(moving.gather, key, lambda: (block(own), None, root, False))
            return Prepared(call, None, (own, tensor))
        places, back = results(outputs, self.size, "gather")
        own = apart(own, places, stays=places[root])
        all_same(own, places, "gather")
        key = ("gather", root, *key_of(own), *keys_of(places))
        call = self._read(
            moving.gather, key, lambda: (own_block(own, places), blocks(places), root, True)
        )
        call.nbytes, call.equal_blocks = own.nbytes * self.size, True
        return Prepared(call, back, (own, places, tensor))

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Prepared:
        """Each rank's one of the root's `tensors` in its `output`."""
        place, back = result(output)
        if self.rank != root:
            key = ("scatter", root, *key_of(place))
            call = self._read(moving.scatter, key, lambda: (None, block(place), root, False))
            return Prepared(call, back, (place, output))
        if len(tensors) != self.size:
            raise ValueError(f"scatter: expected {self.size} tensors, got {len(tensors)}")
        given = [apart(operand(tensor), [place], stays=place) for tensor in tensors]
        all_same(place, given, "scatter")
        key = ("scatter", root, *key_of(place), *keys_of(given))
        call = self._read(
            moving.scatter, key, lambda: (blocks(given), own_block(place, given), root, True)
        )
        call.nbytes, call.equal_blocks = place.nbytes * self.size, True
        return Prepared(call, back, (place, given, output))

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: ReduceOp) -> Prepared:
        """Of all ranks' `tensors`, each rank's own combined in its `output`."""
        if len(tensors) != self.size:
            raise ValueError(f"reduce_scatter: expected {self.size} tensors, got {len(tensors)}")
        same_size(output, tensors[self.rank], "reduce_scatter")
        counts = tuple(tensor.numel() for tensor in tensors)
        return self._reduce_scatter(output, in_a_row(tensors), counts, op)

    def reduce_scatter_whole(self, output: Tensor, tensor: Tensor, op: ReduceOp) -> Prepared:
        """The same with all of a rank's tensors one behind the other in `tensor`."""
        if tensor.numel() != output.numel() * self.size:
            raise ValueError(
                f"reduce_scatter: the input has {tensor.numel()} elements, expected {self.size} "
                f"times {output.numel()}"
            )
        return self._reduce_scatter(output, operand(tensor), (output.numel(),) * self.size, op)

    def _reduce_scatter(
        self, output: Tensor, tensor: Tensor, counts: tuple[int, ...], op: ReduceOp
    ) -> Prepared:
        given = premultiplied(op, tensor, spoil=False)
        place, back = result(output)
        if overlap(place, given):
            place = place.new_empty(place.shape)
            copy = place

            def back() -> None:
                output.copy_(copy)

        mpi_op = operation(op, given.dtype)
        key = ("reduce_scatter", id(mpi_op), counts, *key_of(place), *key_of(given))
        call = self._read(
            reducing.reduce_scatter, key, lambda: (numbers(given), numbers(place), counts, mpi_op)
        )
        return Prepared(call, back, (place, given, output))

    def alltoall(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Prepared:
        """Each of `tensors` to its rank, everyone's in its place of `outputs`."""
        places, back = results(outputs, self.size, "all_to_all")
        if len(tensors) != self.size:
            raise ValueError(f"all_to_all: expected {self.size} tensors, got {len(tensors)}")
        given = [apart(operand(tensor), places) for tensor in tensors]
        same_size(given[self.rank], places[self.rank], "all_to_all")
        key = ("alltoall", *keys_of(given), *keys_of(places))
        call = self._read(moving.alltoall, key, lambda: (blocks(given), blocks(places), "v"))
        return Prepared(call, back, (given, places), sum(tensor.nbytes for tensor in given))

    def alltoall_whole(
        self, output: Tensor, tensor: Tensor, gets: Sequence[int], gives: Sequence[int]
    ) -> Prepared:
        """The same, one behind the other, cut along the first dimension; equal pieces if empty."""
        place, back = result(output)
        given = apart(operand(tensor), [place])
        if gets or gives:
            received = [piece_size(place, rows) for rows in splits(place, gets, self.size)]
            sent = [piece_size(given, rows) for rows in splits(given, gives, self.size)]
            key = ("alltoall", tuple(sent), tuple(received), *key_of(given), *key_of(place))
            call = self._read(
                moving.alltoall,
                key,
                lambda: (
                    [block(given)[0], sent, None, MPI.BYTE],
                    [block(place)[0], received, None, MPI.BYTE],
                    "v",
                ),
            )
            return Prepared(call, back, (given, place, output), given.nbytes)
        splits(given, (), self.size)
        same_size(given, place, "all_to_all")
        key = ("alltoall", *key_of(given), *key_of(place))
        call = self._read(moving.alltoall, key, lambda: (block(given)[0], block(place)[0], ""))
        return Prepared(call, back, (given, place, output))
