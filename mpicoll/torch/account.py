"""How much is communicated: calls and bytes of each of torch's operations, on this rank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["Account", "Sums", "accounting", "accounts"]


class Sums(NamedTuple):
    """What was counted of one operation.

    `calls`: how many; `tensor_bytes`: the m of the cost formulas, summed (the whole vector of a
    reduction, all blocks of a gathering or scattering, what the rank gives in an all-to-all);
    `sent_bytes`: what this rank sent to others by the algorithms that ran.
    """

    calls: int = 0
    tensor_bytes: int = 0
    sent_bytes: int = 0


class Account(dict[str, Sums]):
    """Sums by the name of torch's operation, such as "all_reduce"."""

    def add(self, name: str, tensor_bytes: int, sent_bytes: int) -> None:
        """Count one call."""
        calls, so_far, sent = self.get(name, Sums())
        self[name] = Sums(calls + 1, so_far + tensor_bytes, sent + sent_bytes)

    def __str__(self) -> str:
        lines = [f"{'operation':<28}{'calls':>7}{'tensor bytes':>16}{'bytes sent':>16}"]
        for name, (calls, tensor_bytes, sent_bytes) in sorted(self.items()):
            lines.append(f"{name:<28}{calls:>7,}{tensor_bytes:>16,}{sent_bytes:>16,}")
        return "\n".join(lines if self else ["nothing was communicated"])


#: Those that are open.
accounts: list[Account] = []


@contextmanager
def accounting() -> Iterator[Account]:
    """Count what groups of this backend communicate on this rank.

    For example::

        with mpicoll.torch.accounting() as account:
            loss.backward()
        print(account["all_reduce"].calls, account["all_reduce"].sent_bytes)
    """
    account = Account()
    accounts.append(account)
    try:
        yield account
    finally:
        accounts.remove(account)
