"""The methods that torch calls for its collectives: from its arguments to calls of mpicoll."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import torch.distributed as dist
from torch import Tensor
from torch.distributed import ReduceOp

from mpicoll.torch.calls import Caller, Prepared
from mpicoll.torch.work import Work

__all__ = ["Collectives"]


class Collectives(dist.ProcessGroup):
    """A process group's collectives, under torch's names, old and new.

    `opts` are torch's options, or in the older forms a root or an operation. All methods return a
    `Work`; where torch says that it will wait at once, what they return is complete.
    """

    _caller: Caller

    def _run(
        self,
        name: str,
        number: int,
        read: Callable[[], list[Prepared]],
        opts: object,
        tensors: list,
        timeout: timedelta | None = None,
    ) -> Work:
        """Start the calls that `read` gives, `number` of them; the subclass knows how."""
        raise NotImplementedError

    def barrier(self, opts: object = None, timeout: timedelta | None = None) -> Work:
        """dist.barrier."""
        return self._run("barrier", 1, lambda: [self._caller.barrier()], opts, [], timeout)

    def broadcast(self, tensors: object, opts: object = None, timeout=None) -> Work:
        """dist.broadcast; `opts` may be the root."""
        tensors, root = _listed(tensors), getattr(opts, "rootRank", opts or 0)

        def read() -> list[Prepared]:
            return [self._caller.broadcast(tensor, root) for tensor in tensors]

        return self._run("broadcast", len(tensors), read, opts, tensors, timeout)

    def allreduce(self, tensors: object, opts: object = None, timeout=None) -> Work:
        """dist.all_reduce; `opts` may be the operation."""
        return self._allreduce("all_reduce", _listed(tensors), opts, timeout)

    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: object = None) -> Work:
        """Several all_reduce at a time."""
        return self._allreduce("all_reduce_coalesced", list(tensors), opts)

    def _allreduce(self, name: str, tensors: list[Tensor], opts: object, timeout=None) -> Work:
        def read() -> list[Prepared]:
            op = _op(opts)
            return [self._caller.allreduce(tensor, op) for tensor in tensors]

        return self._run(name, len(tensors), read, opts, tensors, timeout)

    def reduce(self, tensors: object, opts: object = 0, op=None, timeout=None) -> Work:
        """dist.reduce; `opts` may be the root."""
        tensors, root = _listed(tensors), getattr(opts, "rootRank", opts)
        op = op or getattr(opts, "reduceOp", ReduceOp.SUM)

        def read() -> list[Prepared]:
            return [self._caller.reduce(tensor, op, root) for tensor in tensors]

        return self._run("reduce", len(tensors), read, opts, tensors, timeout)

    def allgather(
        self, outputs: Sequence, inputs: object, opts: object = None, timeout=None
    ) -> Work:
        """dist.all_gather."""
        if isinstance(inputs, Tensor):
            outputs, inputs = [outputs], [inputs]

        def read() -> list[Prepared]:
            return [self._caller.allgather(*pair) for pair in zip(outputs, inputs, strict=True)]

        return self._run("all_gather", len(inputs), read, opts, list(outputs), timeout)

    def allgather_coalesced(self, outputs: Sequence, inputs: Sequence, opts: object = None) -> Work:
        """dist.all_gather_coalesced: outputs[r][i] is for tensor i of rank r."""
        return self.allgather(list(zip(*outputs, strict=True)), inputs, opts)

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: object = None) -> Work:
        """dist.all_gather_into_tensor."""

        def read() -> list[Prepared]:
            return [self._caller.allgather_whole(output, tensor)]

        return self._run("all_gather_into_tensor", 1, read, opts, [output])

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: object = None
    ) -> Work:
        """Several all_gather_into_tensor at a time."""

        def read() -> list[Prepared]:
            pairs = zip(outputs, inputs, strict=True)
            return [self._caller.allgather_whole(*pair) for pair in pairs]

        name = "all_gather_into_tensor_coalesced"
        return self._run(name, len(inputs), read, opts, list(outputs))

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, outputs: Sequence, inputs: object, opts: object = 0, timeout=None) -> Work:
        """dist.gather; `opts` may be the root."""
        if isinstance(inputs, Tensor):
            outputs, inputs = [outputs], [inputs]
        root = getattr(opts, "rootRank", opts)

        def read() -> list[Prepared]:
            return [self._caller.gather(outputs[0] if outputs else [], inputs[0], root)]

        return self._run("gather", 1, read, opts, list(outputs), timeout)

    def scatter(self, outputs: object, inputs: Sequence, opts: object = 0, timeout=None) -> Work:
        """dist.scatter; `opts` may be the root."""
        if isinstance(outputs, Tensor):
            outputs, inputs = [outputs], [inputs]
        root = getattr(opts, "rootRank", opts)

        def read() -> list[Prepared]:
            return [self._caller.scatter(outputs[0], inputs[0] if inputs else [], root)]

        return self._run("scatter", 1, read, opts, list(outputs), timeout)

    def reduce_scatter(self, outputs: object, inputs: Sequence, opts=None, timeout=None) -> Work:
        """dist.reduce_scatter; `opts` may be the operation."""
        if isinstance(outputs, Tensor):
            outputs, inputs = [outputs], [inputs]

        def read() -> list[Prepared]:
            op, pairs = _op(opts), zip(outputs, inputs, strict=True)
            return [self._caller.reduce_scatter(place, given, op) for place, given in pairs]

        return self._run("reduce_scatter", len(outputs), read, opts, list(outputs), timeout)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: object = None) -> Work:
        """dist.reduce_scatter_tensor."""

        def read() -> list[Prepared]:
            return [self._caller.reduce_scatter_whole(output, tensor, _op(opts))]

        return self._run("reduce_scatter_tensor", 1, read, opts, [output])

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: object = None
    ) -> Work:
        """Several reduce_scatter_tensor at a time."""

        def read() -> list[Prepared]:
            op, pairs = _op(opts), zip(outputs, inputs, strict=True)
            return [self._caller.reduce_scatter_whole(place, given, op) for place, given in pairs]

        name = "reduce_scatter_tensor_coalesced"
        return self._run(name, len(outputs), read, opts, list(outputs))

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts=None) -> Work:
        """dist.all_to_all."""

        def read() -> list[Prepared]:
            return [self._caller.alltoall(outputs, inputs)]

        return self._run("all_to_all", 1, read, opts, list(outputs))

    def all_to_all_single(
        self,
        output: Tensor,
        tensor: Tensor,
        output_split_sizes: Sequence[int] = (),
        input_split_sizes: Sequence[int] = (),
        opts: object = None,
    ) -> Work:
        """dist.all_to_all_single."""
        splits = output_split_sizes, input_split_sizes

        def read() -> list[Prepared]:
            return [self._caller.alltoall_whole(output, tensor, *splits)]

        return self._run("all_to_all_single", 1, read, opts, [output])

    alltoall_base = all_to_all_single


def _listed(tensors: object) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _op(opts: object) -> ReduceOp:
    if opts is None:
        return ReduceOp.SUM
    return getattr(opts, "reduceOp", opts)
