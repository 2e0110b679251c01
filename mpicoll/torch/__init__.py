"""torch.distributed on mpicoll's collectives.

``import mpicoll.torch`` makes the backend known; a program then runs on it with one word changed::

    import mpicoll.torch
    torch.distributed.init_process_group("mpicoll")

started by ``mpirun -n 4 python program.py`` or ``mpicoll run -n 4 program.py``: rank and size come
from MPI. See docs/torch.md.
"""

try:
    import torch.distributed
except ImportError as error:
    raise ImportError(
        "mpicoll.torch needs PyTorch, which is not installed: pip install 'mpicoll[torch]' "
        "(docs/torch.md says how to get the small build for CPUs)"
    ) from error

if not torch.distributed.is_available():
    raise ImportError("mpicoll.torch: this build of PyTorch has no torch.distributed")

from mpicoll.torch.account import Account, accounting
from mpicoll.torch.group import ProcessGroup
from mpicoll.torch.monitored import monitored_barrier
from mpicoll.torch.start import register

__all__ = ["Account", "ProcessGroup", "accounting", "monitored_barrier"]

register()
