"""Trees of numbers, strings and arrays as bytes, and messages of them on a socket.

JSON, never pickle: what comes from a rank may have been made by student code.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
from typing import Any

import numpy as np

__all__ = ["Closed", "pack", "receive", "send", "unpack"]

LONGEST = 1 << 30


class Closed(Exception):
    """The other end is gone."""


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject or value.dtype.names:
            return {"__repr__": f"an array of dtype {value.dtype}"}
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"__array__": [value.dtype.str, list(value.shape), data]}
    if isinstance(value, np.generic):
        return _plain(np.asarray(value))
    if isinstance(value, complex):
        return {"__complex__": [value.real, value.imag]}
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    return {"__repr__": repr(value)[:200]}


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return [_rich(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "__array__" in value:
        dtype, shape, data = value["__array__"]
        return np.frombuffer(base64.b64decode(data), np.dtype(dtype)).reshape(shape).copy()
    if "__complex__" in value:
        return complex(*value["__complex__"])
    return {key: _rich(item) for key, item in value.items()}


def pack(tree: Any) -> bytes:
    """A tree as bytes; what is neither number, string, array nor a container becomes its repr."""
    return json.dumps(_plain(tree)).encode()


def unpack(data: bytes) -> Any:
    """The tree again, tuples as lists; ValueError if it is none."""
    try:
        return _rich(json.loads(data))
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no tree: {error}") from None


def send(connection: socket.socket, tree: Any) -> None:
    """Send one message."""
    data = pack(tree)
    try:
        connection.sendall(struct.pack("!I", len(data)) + data)
    except OSError as error:
        raise Closed(str(error)) from None


def receive(connection: socket.socket) -> Any:
    """Wait for one message; Closed if none will come, ValueError if it makes no sense."""
    (length,) = struct.unpack("!I", _exactly(connection, 4))
    if length > LONGEST:
        raise ValueError("a message of impossible length")
    return unpack(_exactly(connection, length))


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        try:
            data = connection.recv(min(length, 1 << 20))
        except OSError as error:
            raise Closed(str(error)) from None
        if not data:
            raise Closed("the connection was closed")
        parts.append(data)
        length -= len(data)
    return b"".join(parts)
