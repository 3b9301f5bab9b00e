//! The three fields, as arithmetic on bytes: GF(2) with eight symbols per byte,
//! GF(2^4) modulo x^4 + x + 1 with two symbols per byte, low nibble first, and
//! GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (0x11B), the polynomial of AES, for which
//! x86 has the instruction GF2P8MULB.
//!
//! Everything here is derived from [`product`], which follows the definition bit by
//! bit; the compiler computes the tables. Addition and subtraction are both
//! exclusive or. Arithmetic on whole rows is in the kernels.

/// The polynomial x^4 + x + 1.
const POLYNOMIAL_16: u16 = 0b1_0011;

/// The polynomial x^8 + x^4 + x^3 + x + 1.
pub(crate) const POLYNOMIAL_256: u16 = 0x11B;

/// The field of the coefficients and symbols.
///
/// ```
/// use lasthop_rlnc::Field;
///
/// // The example of FIPS 197, 4.2.
/// assert_eq!(Field::Gf256.multiply(0x57, 0x83), 0xc1);
/// assert_eq!(Field::Gf256.multiply(0x83, Field::Gf256.invert(0x83)), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// GF(2): a coded packet is an exclusive or. About 1.6 packets of overhead per
    /// block.
    Gf2,
    /// GF(2^4), two symbols per byte. About 0.07 packets of overhead per block.
    Gf16,
    /// GF(2^8). Less than 0.005 packets of overhead per block.
    Gf256,
}

impl Field {
    /// All fields, the smallest first.
    pub const ALL: [Self; 3] = [Self::Gf2, Self::Gf16, Self::Gf256];

    /// Bits per element, and per coefficient on the wire: 1, 4 or 8.
    pub const fn bits(self) -> usize {
        match self {
            Self::Gf2 => 1,
            Self::Gf16 => 4,
            Self::Gf256 => 8,
        }
    }

    /// Number of elements of the field: 2, 16 or 256.
    pub const fn order(self) -> usize {
        1 << self.bits()
    }

    /// Bytes of `count` coefficients transmitted in full.
    pub const fn packed_bytes(self, count: usize) -> usize {
        (count * self.bits()).div_ceil(8)
    }

    /// The product of two elements. Higher bits than the field's are ignored.
    pub const fn multiply(self, a: u8, b: u8) -> u8 {
        let mask = (self.order() - 1) as u8;
        product(self, a & mask, b & mask)
    }

    /// The multiplicative inverse of `a`; zero for zero, which has none.
    pub const fn invert(self, a: u8) -> u8 {
        match self {
            Self::Gf2 => a & 1,
            Self::Gf16 => INVERSES_16[(a & 15) as usize],
            Self::Gf256 => INVERSES_256[a as usize],
        }
    }

    /// The tables that the kernels multiply with.
    pub(crate) const fn tables(self) -> &'static Tables {
        match self {
            Self::Gf2 => &TABLES_2,
            Self::Gf16 => &TABLES_16,
            Self::Gf256 => &TABLES_256,
        }
    }
}

/// Multiplication of a byte (one, two or eight elements) by each element of a
/// field, in the form that instructions need. Indexed by the element; entries from
/// the field's order on repeat.
pub(crate) struct Tables {
    /// Products of the low nibble (first 16) and of the high nibble (last 16): the
    /// product of a byte is the sum of one of each.
    pub nibbles: [[u8; 32]; 256],
    /// The product as a matrix over GF(2), in the order of GF2P8AFFINEQB: byte 7
    /// is the row of bit 0 of the product.
    pub matrices: [u64; 256],
}

static TABLES_2: Tables = tables(Field::Gf2);
static TABLES_16: Tables = tables(Field::Gf16);
static TABLES_256: Tables = tables(Field::Gf256);
static INVERSES_16: [u8; 16] = inverses(Field::Gf16);
static INVERSES_256: [u8; 256] = inverses(Field::Gf256);

/// Multiplication by definition: of polynomials over GF(2), reduced.
const fn product(field: Field, a: u8, b: u8) -> u8 {
    let (bits, polynomial) = match field {
        Field::Gf2 => return a & b,
        Field::Gf16 => (4, POLYNOMIAL_16),
        Field::Gf256 => (8, POLYNOMIAL_256),
    };
    let mut sum = 0u16;
    let mut shifted = a as u16;
    let mut bit = 0;
    while bit < bits {
        if b >> bit & 1 == 1 {
            sum ^= shifted;
        }
        shifted <<= 1;
        if shifted >> bits & 1 == 1 {
            shifted ^= polynomial;
        }
        bit += 1;
    }
    sum as u8
}

/// The product of a byte of elements and the element `c`.
const fn byte_product(field: Field, c: u8, byte: u8) -> u8 {
    match field {
        Field::Gf2 => (c & 1) * byte,
        Field::Gf16 => product(field, c & 15, byte & 15) | product(field, c & 15, byte >> 4) << 4,
        Field::Gf256 => product(field, c, byte),
    }
}

const fn tables(field: Field) -> Tables {
    let mut tables = Tables { nibbles: [[0; 32]; 256], matrices: [0; 256] };
    let mut c = 0;
    while c < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            tables.nibbles[c][nibble] = byte_product(field, c as u8, nibble as u8);
            tables.nibbles[c][16 + nibble] = byte_product(field, c as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        let mut from = 0;
        while from < 8 {
            let image = byte_product(field, c as u8, 1 << from) as u64;
            let mut to = 0;
            while to < 8 {
                tables.matrices[c] |= (image >> to & 1) << ((7 - to) * 8 + from);
                to += 1;
            }
            from += 1;
        }
        c += 1;
    }
    tables
}

const fn inverses<const ORDER: usize>(field: Field) -> [u8; ORDER] {
    let mut inverses = [0; ORDER];
    let mut a = 1;
    while a < ORDER {
        let mut b = 1;
        while product(field, a as u8, b as u8) != 1 {
            b += 1;
        }
        inverses[a] = b as u8;
        a += 1;
    }
    inverses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, 4.2: worked examples in GF(2^8) modulo 0x11B.
    #[test]
    fn products_are_those_of_fips_197() {
        assert_eq!(Field::Gf256.multiply(0x57, 0x83), 0xC1);
        assert_eq!(Field::Gf256.multiply(0x57, 0x13), 0xFE);
        for (power, value) in [(1, 0xAE), (2, 0x47), (3, 0x8E), (4, 0x07)] {
            assert_eq!(Field::Gf256.multiply(0x57, 1 << power), value);
        }
    }

    /// The polynomials are irreducible exactly if every element but zero has an
    /// inverse and no product of two others is zero.
    #[test]
    #[cfg_attr(miri, ignore = "half an hour of table lookups, all of them safe")]
    fn they_are_fields() {
        for field in Field::ALL {
            let elements = || (0..field.order()).map(|a| a as u8);
            for a in elements() {
                let one = if a == 0 { 0 } else { 1 };
                assert_eq!(field.multiply(a, field.invert(a)), one, "{field:?} {a}");
                for b in elements() {
                    assert_eq!(field.multiply(a, b), field.multiply(b, a));
                    assert_eq!(field.multiply(a, b) == 0, a == 0 || b == 0, "{field:?} {a} {b}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "half an hour of table lookups, all of them safe")]
    fn both_tables_are_the_definition() {
        for field in Field::ALL {
            let tables = field.tables();
            for (c, byte) in (0..field.order()).flat_map(|c| (0..=255u8).map(move |b| (c, b))) {
                let mut expected = 0;
                for at in (0..8).step_by(field.bits()) {
                    let element = byte >> at & (field.order() - 1) as u8;
                    expected |= field.multiply(c as u8, element) << at;
                }
                let nibbles = tables.nibbles[c];
                let sum = nibbles[usize::from(byte & 15)] ^ nibbles[16 + usize::from(byte >> 4)];
                assert_eq!(sum, expected, "{field:?} {c} {byte}");
                let rows = tables.matrices[c].to_le_bytes();
                let affine = (0..8).map(|to| ((rows[7 - to] & byte).count_ones() & 1) << to);
                assert_eq!(affine.sum::<u32>() as u8, expected, "{field:?} {c} {byte}");
            }
        }
    }
}
