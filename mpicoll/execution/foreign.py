"""Element formats of buffers that have another protocol than Python's own.

mpi4py reads DLPack capsules and CUDA array interfaces itself, but does not tell which datatype it
takes for them. NumPy cannot say it either where it has no such type (long double in DLPack).
"""

from __future__ import annotations

import ctypes

import numpy as np

__all__ = ["format_of"]

_FORMATS = {
    (kind, 8 * ctypes.sizeof(c_type)): code
    for kind, codes in (
        (0, {"q": ctypes.c_longlong, "l": ctypes.c_long, "i": ctypes.c_int, "h": ctypes.c_short}),
        (0, {"b": ctypes.c_byte}),
        (1, {"Q": ctypes.c_ulonglong, "L": ctypes.c_ulong, "I": ctypes.c_uint}),
        (1, {"H": ctypes.c_ushort, "B": ctypes.c_ubyte}),
        (2, {"f": ctypes.c_float, "d": ctypes.c_double, "g": ctypes.c_longdouble}),
        (6, {"?": ctypes.c_bool}),
    )
    for code, c_type in codes.items()
}
_FLOAT, _BFLOAT, _COMPLEX = 2, 4, 5


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    # The beginning of DLPack's DLTensor.
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
    )


#: Where the tensor is, by the name of the capsule: behind version, context, deleter and flags.
_OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 8 + 2 * ctypes.sizeof(ctypes.c_void_p) + 8}

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def format_of(buffer: object) -> str | np.dtype:
    """The format of the elements, as in Python's buffer protocol or as a dtype; "B" if unknown."""
    if hasattr(buffer, "__dlpack__"):
        return _dlpack_format(buffer)
    if hasattr(buffer, "__cuda_array_interface__"):
        return np.dtype(buffer.__cuda_array_interface__["typestr"])
    return "B"


def _dlpack_format(buffer: object) -> str | np.dtype:
    capsule = buffer.__dlpack__()
    name = _name_of(capsule)
    dtype = _Tensor.from_address(_pointer_of(capsule, name) + _OFFSETS[name]).dtype
    code, bits, lanes = dtype.code, dtype.bits, dtype.lanes
    if (code, bits, lanes) == (_FLOAT, 16, 1):
        return np.dtype(np.float16)
    if (code, bits, lanes) == (_BFLOAT, 16, 1):
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if code == _COMPLEX and lanes == 1:
        bits, lanes = bits // 2, 2
    elif lanes != 1 and (code, lanes) != (_FLOAT, 2):
        return "B"
    if lanes == 2:
        return "Z" + _FORMATS.get((_FLOAT, bits), "B")
    return _FORMATS.get((code, bits), "B")
