"""Random linear network coding over GF(2), GF(2^4) and GF(2^8).

======================  ====================  ======================
side                    a block of symbols    a window that slides
======================  ====================  ======================
source                  ``Encoder``           ``WindowEncoder``
intermediate node       ``Recoder``
destination             ``Decoder``           ``WindowDecoder``
======================  ====================  ======================

A packet is a ``Vector``, which says what combination of symbols it is, and its payload.
Data is taken from any object with the buffer protocol (``bytes``, ``bytearray``,
``memoryview``, NumPy arrays). ``bytes`` are read where they are; everything else is copied
once more, because Python's stable ABI has the buffer protocol from 3.11 on only. Payloads
and symbols are ``bytes``; ``numpy.frombuffer`` looks at them without a copy. Nothing checks
that a payload belongs to its vector: a forged packet spoils a block.
"""

from lasthop._lasthop import (
    Code,
    Decoder,
    Encoder,
    Recoder,
    Vector,
    WindowDecoder,
    WindowEncoder,
)

__all__ = [
    "DENSE",
    "Code",
    "Decoder",
    "Encoder",
    "Recoder",
    "Vector",
    "WindowDecoder",
    "WindowEncoder",
]

DENSE = 65535
"""The density of coefficients that are uniform over the field, zero included. A smaller one,
``d``, makes each coefficient other than zero with probability ``(d + 1) / 65536``."""


def _code(symbols: int, symbol_bytes: int, field: int) -> Code:
    """Makes a code that was pickled."""
    return Code(symbols, symbol_bytes, field=field)
