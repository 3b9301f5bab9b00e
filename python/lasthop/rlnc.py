"""Random linear network coding over GF(2), GF(2^4) and GF(2^8).

======================  ====================  ======================
side                    a block of symbols    a window that slides
======================  ====================  ======================
source                  ``Encoder``           ``WindowEncoder``
intermediate node       ``Recoder``
destination             ``Decoder``           ``WindowDecoder``
======================  ====================  ======================

A packet is a ``Vector``, which describes its combination of symbols, and a payload. Data may
be any object with the buffer protocol (``bytes``, ``bytearray``, ``memoryview``, NumPy
arrays). ``bytes`` are read in place; everything else is copied once more, because Python's
stable ABI has the buffer protocol only from 3.11 on. Payloads and symbols are ``bytes``;
``numpy.frombuffer`` reads them without a copy. Payloads are not authenticated: a forged packet
spoils a block.
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
    """Makes a code from its pickle."""
    return Code(symbols, symbol_bytes, field=field)
