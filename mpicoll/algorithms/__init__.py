"""The algorithms, one module per MPI operation, and the phases that they share.

Importing this package registers all of them.
"""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
