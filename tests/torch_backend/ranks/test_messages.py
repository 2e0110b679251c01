"""Messages, groups, futures, objects, coalesced and functional forms; what is refused."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist
import torch.distributed._functional_collectives as functional

import mpicoll.torch
from mpicoll.execution.observe import observe, unobserve

two = pytest.mark.mpi(min_size=2)


@two
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool, torch.complex64, torch.float64])
def test_ring_with_tags(world, dtype):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    sent = [torch.full((3, 4), rank + tag, dtype=dtype).t() for tag in range(3)]
    got = [torch.zeros(4, 3, dtype=dtype) for _ in range(3)]
    works = [dist.isend(tensor, right, tag=tag) for tag, tensor in enumerate(sent)]
    for tag in (2, 0, 1):  # not in the order in which they are sent
        assert dist.recv(got[tag], left, tag=tag) == left
    for work in works:
        work.wait()
    for tag in range(3):
        assert torch.equal(got[tag], torch.full((4, 3), left + tag, dtype=dtype))


@two
def test_any_source_and_results_with_gaps(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(torch.full((5,), float(rank)), 0)
    else:
        senders = set()
        for _ in range(size - 1):
            whole = torch.zeros(5, 2)
            sender = dist.recv(whole[:, 1])
            assert torch.equal(whole, torch.tensor([0.0, sender]).repeat(5, 1))
            senders.add(sender)
        assert senders == set(range(1, size))
    dist.barrier()


@two
def test_batch_of_messages(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    give, take = torch.full((1000,), float(rank)), torch.zeros(1000)
    ops = [
        dist.P2POp(dist.isend, give, (rank + 1) % size),
        dist.P2POp(dist.irecv, take, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert torch.equal(take, torch.full((1000,), float((rank - 1) % size)))


@two
def test_a_message_of_another_size_is_an_error(world):
    if dist.get_rank() == 0:
        dist.send(torch.zeros(3), 1)
    elif dist.get_rank() == 1:
        with pytest.raises(ValueError, match="the message has 12 bytes, the tensor 20"):
            dist.recv(torch.zeros(5), 0)
    dist.barrier()


def test_futures_and_works(world):
    size = dist.get_world_size()
    tensor = torch.ones(50000)
    work = dist.all_reduce(tensor, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert torch.equal(doubled.wait(), torch.full((50000,), 2.0 * size))
    assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert work.result()[0] is tensor


def test_many_at_a_time_finish_in_any_order(world):
    size = dist.get_world_size()
    tensors = [torch.full((100 * i + 1,), float(i)) for i in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works) if dist.get_rank() else works:
        work.wait()
    for i, tensor in enumerate(tensors):
        assert torch.equal(tensor, torch.full((100 * i + 1,), float(i * size)))


def test_nobody_waits_and_memory_stays(world):
    works = [dist.all_reduce(torch.ones(10000), async_op=True).get_future() for _ in range(10)]
    for future in works:
        assert torch.equal(future.wait()[0], torch.full((10000,), float(dist.get_world_size())))


@two
def test_groups_with_other_numbers(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    odd = dist.new_group(list(range(1, size, 2)))
    backwards = dist.distributed_c10d._new_group_with_tag(
        list(range(size))[::-1], pg_tag="back", sort_ranks=False
    )
    tensor = torch.tensor([rank])
    if rank % 2:
        dist.all_reduce(tensor, group=odd)
        assert tensor.item() == sum(range(1, size, 2))
        dist.destroy_process_group(odd)
    assert dist.get_group_rank(backwards, rank) == backwards.rank() == size - 1 - rank
    parts = [torch.empty(1, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([rank]), group=backwards)
    assert [part.item() for part in parts] == list(range(size))[::-1]
    dist.destroy_process_group(backwards)


def test_groups_come_and_go(world):
    for _ in range(30):
        group = dist.new_group()
        tensor = torch.ones(3)
        dist.all_reduce(tensor, group=group)
        dist.destroy_process_group(group)


def test_objects(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": peer} for peer in range(size)]
    objects = ["a", {1}] if rank == 0 else [None, None]
    dist.broadcast_object_list(objects, 0)
    assert objects == ["a", {1}]
    mine = [None]
    dist.scatter_object_list(mine, [str(peer) for peer in range(size)], 0)
    assert mine == [str(rank)]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object((rank,), gathered, 0)
    assert gathered == ([(peer,) for peer in range(size)] if rank == 0 else None)


def test_coalesced(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    tensors = [torch.full((n,), float(rank)) for n in (1, 5, 700)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    total = float(sum(range(size)))
    assert all(torch.equal(tensor, torch.full_like(tensor, total)) for tensor in tensors)


def test_functional(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = torch.full((2, size), float(rank))
    summed = functional.all_reduce(mine, "sum", world)
    assert torch.equal(summed + 0, torch.full((2, size), float(sum(range(size)))))
    gather = getattr(functional, "all_gather_single", functional.all_gather_tensor)
    assert torch.equal(gather(mine, 0, world)[::2, 0], torch.arange(float(size)))
    scatter = getattr(functional, "reduce_scatter_single", functional.reduce_scatter_tensor)
    part = scatter(torch.ones(size, 3), "sum", 0, world)
    assert torch.equal(part + 0, torch.full((1, 3), float(size)))
    exchanged = functional.all_to_all_single(torch.full((size,), float(rank)), None, None, world)
    assert torch.equal(exchanged + 0, torch.arange(float(size)))


@two
def test_uneven_all_to_all(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    gives = [(rank + peer) % 3 for peer in range(size)]  # some of them 0
    given = torch.repeat_interleave(torch.arange(size), torch.tensor(gives)) + 10 * rank
    given = given[:, None].repeat(1, 2)
    taken = torch.empty(sum(gives), 2, dtype=torch.int64)
    dist.all_to_all_single(taken, given, gives, gives)
    expected = [10 * peer + rank for peer in range(size) for _ in range((peer + rank) % 3)]
    assert taken[:, 0].tolist() == expected


def test_in_place_and_overlapping_memory(world):
    rank, size = dist.get_rank(), dist.get_world_size()
    whole = torch.zeros(size, 3)
    whole[rank] = rank
    gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
    gather(whole, whole[rank])
    assert torch.equal(whole[:, 0], torch.arange(float(size)))
    scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
    scatter(whole[0], whole)
    assert torch.equal(whole[0], torch.full((3,), float(rank * size)))
    both = torch.arange(float(size)) + 10 * rank
    dist.all_to_all_single(both, both)
    assert torch.equal(both, 10 * torch.arange(float(size)) + rank)


def test_no_copy_of_contiguous_tensors(world):
    seen = []

    class Eyes:
        def before(self, event):
            seen.append((event.method, event.call.key))

        def after(self, event, error):
            pass

    eyes, tensor = Eyes(), torch.ones(1000, dtype=torch.bfloat16)
    observe(eyes)
    try:
        dist.all_reduce(tensor)
        dist.broadcast(tensor, 0)
    finally:
        unobserve(eyes)
    assert [name for name, _ in seen] == ["all_reduce", "broadcast"]
    assert all(tensor.data_ptr() in key for _, key in seen)


def test_accounts(world):
    size = dist.get_world_size()
    with mpicoll.torch.accounting() as account:
        dist.all_to_all_single(torch.empty(size), torch.ones(size))
        dist.all_to_all_single(torch.empty(size), torch.ones(size))
    assert account["all_to_all_single"] == (2, 2 * 4 * size, 2 * 4 * (size - 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND), "not defined for"),
        (lambda: dist.all_reduce(torch.ones(2).int(), dist.ReduceOp.AVG), "AVG is for floating"),
        (lambda: dist.all_reduce(torch.ones(2).to_sparse()), "dense tensors"),
        (lambda: dist.all_reduce(torch.ones(2, device="meta")), "CPU tensors, not one on meta"),
        (lambda: dist.all_reduce(torch.ones(2).to(torch.float8_e5m2)), "no reductions for it"),
        (lambda: dist.all_to_all_single(torch.ones(3), torch.ones(3), [9], [3]), "split sizes"),
    ],
)
def test_refused_on_every_rank(world, call, message):
    with pytest.raises(ValueError, match=message):
        call()
    tensor = torch.ones(1)
    dist.all_reduce(tensor)  # ranks are still in step
    assert tensor.item() == dist.get_world_size()
