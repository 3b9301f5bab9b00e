//! Random linear network coding for Python: the coders of the crate `rlnc` on buffers. A
//! coder has a buffer of symbols, so that adding a symbol and returning one each copy it
//! once. `bytes` are read in place, any other buffer is converted to `bytes` first, because
//! the stable ABI of Python 3.10 has no buffer protocol. Leaves out a wire format for
//! vectors, as the crate does.

use lasthop_rlnc::{
    CodeError, Density, Field, PacketError, Received, SymbolError, Symbols, window,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use std::fmt::Display;

/// Calls `read` with the bytes of any object that has some.
fn with_bytes<R>(buffer: &Bound<'_, PyAny>, read: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(bytes) = buffer.cast::<PyBytes>() {
        return Ok(read(bytes.as_bytes()));
    }
    let bytes = PyMemoryView::from(buffer)?.call_method0("tobytes")?;
    Ok(read(bytes.cast::<PyBytes>()?.as_bytes()))
}

fn wrong(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn is_innovative(received: Result<Received, PacketError>) -> PyResult<bool> {
    received.map(|received| received == Received::Innovative).map_err(wrong)
}

/// The parameters shared by sender and receiver of a code.
///
/// ``symbols`` is the number of symbols in a block, or most in a window, 1 to 65535;
/// ``symbol_bytes`` the length of a symbol, at least 1; ``field`` the number of elements of
/// the field: 2, 16 or 256. Raises ``ValueError`` if a decoder would need over 2^28 bytes.
#[pyclass(frozen, eq, module = "lasthop.rlnc")]
#[derive(Clone, Copy, PartialEq)]
pub struct Code {
    code: lasthop_rlnc::Code,
}

#[pymethods]
impl Code {
    #[new]
    #[pyo3(signature = (symbols, symbol_bytes, *, field = 256))]
    fn new(symbols: u16, symbol_bytes: usize, field: usize) -> PyResult<Self> {
        let field = Field::ALL.into_iter().find(|known| known.order() == field);
        let field = field.ok_or_else(|| wrong("a field has 2, 16 or 256 elements"))?;
        let code = lasthop_rlnc::Code::new(field, symbols, symbol_bytes);
        Ok(Self { code: code.map_err(|error: CodeError| wrong(error))? })
    }

    #[getter]
    fn symbols(&self) -> usize {
        self.code.symbols()
    }

    #[getter]
    fn symbol_bytes(&self) -> usize {
        self.code.symbol_bytes()
    }

    #[getter]
    fn field(&self) -> usize {
        self.code.field().order()
    }

    fn __repr__(&self) -> String {
        format!("Code({}, {}, field={})", self.symbols(), self.symbol_bytes(), self.field())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Again)> {
        let again = py.import("lasthop.rlnc")?.getattr("_code")?;
        Ok((again, (self.symbols(), self.symbol_bytes(), self.field())))
    }
}

/// Symbols, bytes of a symbol, elements of the field.
type Again = (usize, usize, usize);

/// The combination of symbols in a packet. Sender and receiver exchange its numbers.
#[pyclass(frozen, eq, hash, module = "lasthop.rlnc")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Vector(Form);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Source(u64),
    Seeded { seed: u64, first: u64, count: u16, density: u16 },
    Full { first: u64, count: u16, packed: Box<[u8]> },
}

impl Vector {
    fn new(vector: lasthop_rlnc::Vector<'_>) -> Self {
        Self(match vector {
            lasthop_rlnc::Vector::Source(index) => Form::Source(index),
            lasthop_rlnc::Vector::Seeded { seed, first, count, density } => {
                Form::Seeded { seed, first, count, density: density.parts() }
            }
            lasthop_rlnc::Vector::Full { first, count, packed } => {
                Form::Full { first, count, packed: packed.into() }
            }
        })
    }

    fn borrowed(&self) -> lasthop_rlnc::Vector<'_> {
        match self.0 {
            Form::Source(index) => lasthop_rlnc::Vector::Source(index),
            Form::Seeded { seed, first, count, density } => {
                let density = Density::from_parts(density);
                lasthop_rlnc::Vector::Seeded { seed, first, count, density }
            }
            Form::Full { first, count, ref packed } => {
                lasthop_rlnc::Vector::Full { first, count, packed }
            }
        }
    }
}

#[pymethods]
impl Vector {
    /// Returns the vector of one uncoded symbol.
    #[staticmethod]
    fn source(index: u64) -> Self {
        Self(Form::Source(index))
    }

    /// Returns the vector of coefficients drawn from ``seed``, for ``count`` symbols from
    /// number ``first`` on.
    #[staticmethod]
    #[pyo3(signature = (seed, *, count, first = 0, density = Density::DENSE.parts()))]
    fn seeded(seed: u64, count: u16, first: u64, density: u16) -> Self {
        Self(Form::Seeded { seed, first, count, density })
    }

    /// Returns the vector of explicit coefficients: 1, 4 or 8 bits each, the lowest bits
    /// first.
    #[staticmethod]
    #[pyo3(signature = (packed, *, count, first = 0))]
    fn full(packed: &Bound<'_, PyAny>, count: u16, first: u64) -> PyResult<Self> {
        let packed = with_bytes(packed, |packed| packed.into())?;
        Ok(Self(Form::Full { first, count, packed }))
    }

    /// Kind of the vector: ``source``, ``seeded`` or ``full``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            Form::Source(_) => "source",
            Form::Seeded { .. } => "seeded",
            Form::Full { .. } => "full",
        }
    }

    #[getter]
    fn first(&self) -> u64 {
        match self.0 {
            Form::Source(index) => index,
            Form::Seeded { first, .. } | Form::Full { first, .. } => first,
        }
    }

    #[getter]
    fn count(&self) -> u16 {
        match self.0 {
            Form::Source(_) => 1,
            Form::Seeded { count, .. } | Form::Full { count, .. } => count,
        }
    }

    #[getter]
    fn seed(&self) -> Option<u64> {
        match self.0 {
            Form::Seeded { seed, .. } => Some(seed),
            Form::Source(_) | Form::Full { .. } => None,
        }
    }

    #[getter]
    fn density(&self) -> Option<u16> {
        match self.0 {
            Form::Seeded { density, .. } => Some(density),
            Form::Source(_) | Form::Full { .. } => None,
        }
    }

    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match &self.0 {
            Form::Full { packed, .. } => Some(PyBytes::new(py, packed)),
            Form::Source(_) | Form::Seeded { .. } => None,
        }
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            Form::Source(index) => format!("Vector.source({index})"),
            Form::Seeded { seed, first, count, density } => {
                format!("Vector.seeded({seed}, count={count}, first={first}, density={density})")
            }
            Form::Full { first, count, packed } => {
                format!("Vector.full(<{} bytes>, count={count}, first={first})", packed.len())
            }
        }
    }
}

/// A packet: its vector and its payload.
type Packet<'py> = (Vector, Bound<'py, PyBytes>);

fn packet<'py>(
    py: Python<'py>,
    made: Result<(lasthop_rlnc::Vector<'_>, &[u8]), SymbolError>,
) -> PyResult<Packet<'py>> {
    let (vector, payload) = made.map_err(wrong)?;
    Ok((Vector::new(vector), PyBytes::new(py, payload)))
}

/// The sender of a block: adds symbols, and returns combinations of them.
#[pyclass(module = "lasthop.rlnc")]
pub struct Encoder {
    encoder: lasthop_rlnc::Encoder,
    /// Buffer for a batch of packets, made with the first one.
    batch: Option<Symbols>,
}

#[pymethods]
impl Encoder {
    #[new]
    fn new(code: &Code) -> Self {
        Self { encoder: lasthop_rlnc::Encoder::new(code.code), batch: None }
    }

    #[getter]
    fn code(&self) -> Code {
        Code { code: self.encoder.code() }
    }

    /// Adds the next symbol and returns its number; shorter data is padded with zeros.
    ///
    /// Raises ``ValueError`` if the block is full or the data is longer than a symbol.
    fn push(&mut self, symbol: &Bound<'_, PyAny>) -> PyResult<u16> {
        with_bytes(symbol, |symbol| self.encoder.push(symbol))?.map_err(wrong)
    }

    /// Adds ``data`` cut into symbols, and returns their number; the last one is padded.
    ///
    /// Raises ``ValueError`` if the block cannot hold all of them, and then adds none.
    fn extend(&mut self, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        with_bytes(data, |data| {
            let symbols = data.chunks(self.encoder.code().symbol_bytes());
            let room = self.encoder.code().symbols() - usize::from(self.encoder.len());
            if symbols.len() > room {
                return Err(SymbolError::Full { symbols: self.encoder.code().symbols() });
            }
            let count = symbols.len();
            symbols.into_iter().try_for_each(|symbol| self.encoder.push(symbol).map(drop))?;
            Ok(count)
        })?
        .map_err(wrong)
    }

    fn __len__(&self) -> usize {
        usize::from(self.encoder.len())
    }

    /// Returns the packet with the uncoded symbol ``index``. Raises ``IndexError``.
    fn source<'py>(&self, py: Python<'py>, index: u16) -> PyResult<Packet<'py>> {
        let symbol = self.encoder.source(index);
        let symbol = symbol.ok_or_else(|| PyIndexError::new_err(format!("no symbol {index}")))?;
        Ok((Vector::source(u64::from(index)), PyBytes::new(py, symbol)))
    }

    /// Returns a combination of all symbols so far. Raises ``ValueError`` without symbols.
    #[pyo3(signature = (seed, *, density = Density::DENSE.parts()))]
    fn coded<'py>(&mut self, py: Python<'py>, seed: u64, density: u16) -> PyResult<Packet<'py>> {
        packet(py, self.encoder.coded(seed, Density::from_parts(density)))
    }

    /// Returns a combination for each seed; faster than one by one.
    #[pyo3(signature = (seeds, *, density = Density::DENSE.parts()))]
    fn coded_many<'py>(
        &mut self,
        py: Python<'py>,
        seeds: Vec<u64>,
        density: u16,
    ) -> PyResult<Vec<Packet<'py>>> {
        let Self { encoder, batch } = self;
        let density = Density::from_parts(density);
        let rows = seeds.len();
        let payloads = match batch {
            Some(payloads) if payloads.rows() >= rows => payloads,
            _ => batch.insert(Symbols::new(rows, encoder.code().symbol_bytes())),
        };
        py.detach(|| encoder.coded_many(&seeds, density, payloads)).map_err(wrong)?;
        let packets = seeds.iter().enumerate().map(|(row, &seed)| {
            let vector = encoder.vector(seed, density).map_err(wrong)?;
            Ok((Vector::new(vector), PyBytes::new(py, payloads.row(row))))
        });
        packets.collect()
    }

    /// Starts the next block.
    fn clear(&mut self) {
        self.encoder.clear();
    }
}

/// The receiver of a block, which recovers its symbols.
#[pyclass(module = "lasthop.rlnc")]
pub struct Decoder {
    decoder: lasthop_rlnc::Decoder,
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(code: &Code) -> Self {
        Self { decoder: lasthop_rlnc::Decoder::new(code.code) }
    }

    #[getter]
    fn code(&self) -> Code {
        Code { code: self.decoder.code() }
    }

    /// Adds a packet; returns whether it is innovative.
    ///
    /// Raises ``ValueError`` if it does not fit the code; the decoder then stays unchanged.
    fn push(&mut self, vector: &Vector, payload: &Bound<'_, PyAny>) -> PyResult<bool> {
        let vector = vector.borrowed();
        is_innovative(with_bytes(payload, |payload| self.decoder.push(vector, payload))?)
    }

    /// Number of independent packets so far.
    #[getter]
    fn rank(&self) -> usize {
        self.decoder.rank()
    }

    /// Number of known symbols.
    #[getter]
    fn known(&self) -> usize {
        self.decoder.known()
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }

    /// Returns the number of the next symbol that has become known; each number once.
    fn next_known(&mut self) -> Option<u16> {
        self.decoder.next_known()
    }

    /// Returns symbol ``index``, if it is known.
    fn symbol<'py>(&self, py: Python<'py>, index: u16) -> Option<Bound<'py, PyBytes>> {
        self.decoder.symbol(index).map(|symbol| PyBytes::new(py, symbol))
    }

    /// Returns all symbols, one after the other. Raises ``ValueError`` if one is unknown.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if !self.decoder.is_complete() {
            let (known, symbols) = (self.decoder.known(), self.decoder.code().symbols());
            return Err(wrong(format!("{known} of {symbols} symbols are known")));
        }
        let bytes = self.decoder.code().symbol_bytes();
        PyBytes::new_with(py, self.decoder.code().symbols() * bytes, |data| {
            for (index, to) in (0..=u16::MAX).zip(data.chunks_exact_mut(bytes)) {
                to.copy_from_slice(self.decoder.symbol(index).expect("all are known"));
            }
            Ok(())
        })
    }

    /// Starts the next block.
    fn clear(&mut self) {
        self.decoder.clear();
    }
}

/// A node between sender and receiver of a block: combines packets without decoding.
#[pyclass(module = "lasthop.rlnc")]
pub struct Recoder {
    recoder: lasthop_rlnc::Recoder,
}

#[pymethods]
impl Recoder {
    #[new]
    fn new(code: &Code) -> Self {
        Self { recoder: lasthop_rlnc::Recoder::new(code.code) }
    }

    #[getter]
    fn code(&self) -> Code {
        Code { code: self.recoder.code() }
    }

    /// Adds a packet as ``Decoder.push`` does.
    fn push(&mut self, vector: &Vector, payload: &Bound<'_, PyAny>) -> PyResult<bool> {
        let vector = vector.borrowed();
        is_innovative(with_bytes(payload, |payload| self.recoder.push(vector, payload))?)
    }

    #[getter]
    fn rank(&self) -> usize {
        self.recoder.rank()
    }

    /// Returns a combination of all packets so far. Raises ``ValueError`` without packets.
    #[pyo3(signature = (seed, *, density = Density::DENSE.parts()))]
    fn recode<'py>(&mut self, py: Python<'py>, seed: u64, density: u16) -> PyResult<Packet<'py>> {
        packet(py, self.recoder.recode(seed, Density::from_parts(density)))
    }

    /// Starts the next block.
    fn clear(&mut self) {
        self.recoder.clear();
    }
}

/// The sender of a stream, whose symbols are numbered from 0.
#[pyclass(module = "lasthop.rlnc")]
pub struct WindowEncoder {
    encoder: window::WindowEncoder,
}

#[pymethods]
impl WindowEncoder {
    #[new]
    fn new(code: &Code) -> Self {
        Self { encoder: window::WindowEncoder::new(code.code) }
    }

    /// Returns the numbers of the symbols in the window: the first, and one past the last.
    #[getter]
    fn range(&self) -> (u64, u64) {
        self.encoder.range()
    }

    /// Adds a symbol as ``Encoder.push`` does.
    fn push(&mut self, symbol: &Bound<'_, PyAny>) -> PyResult<u64> {
        with_bytes(symbol, |symbol| self.encoder.push(symbol))?.map_err(wrong)
    }

    /// Removes the symbols before ``first``.
    fn slide(&mut self, first: u64) {
        self.encoder.slide(first);
    }

    /// Returns a packet as ``Encoder.source`` does.
    fn source<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Packet<'py>> {
        let symbol = self.encoder.source(index);
        let symbol = symbol.ok_or_else(|| PyIndexError::new_err(format!("no symbol {index}")))?;
        Ok((Vector::source(index), PyBytes::new(py, symbol)))
    }

    /// Returns a combination of the symbols in the window, as ``Encoder.coded`` does.
    #[pyo3(signature = (seed, *, density = Density::DENSE.parts()))]
    fn coded<'py>(&mut self, py: Python<'py>, seed: u64, density: u16) -> PyResult<Packet<'py>> {
        packet(py, self.encoder.coded(seed, Density::from_parts(density)))
    }
}

/// The receiver of a stream, which recovers symbols in its window.
#[pyclass(module = "lasthop.rlnc")]
pub struct WindowDecoder {
    decoder: window::WindowDecoder,
}

#[pymethods]
impl WindowDecoder {
    #[new]
    fn new(code: &Code) -> Self {
        Self { decoder: window::WindowDecoder::new(code.code) }
    }

    /// Returns the numbers that the window covers: the first, and one past the last.
    #[getter]
    fn range(&self) -> (u64, u64) {
        self.decoder.range()
    }

    /// Adds a packet as ``Decoder.push`` does; newer symbols slide the window, and older
    /// ones are given up.
    fn push(&mut self, vector: &Vector, payload: &Bound<'_, PyAny>) -> PyResult<bool> {
        let vector = vector.borrowed();
        is_innovative(with_bytes(payload, |payload| self.decoder.push(vector, payload))?)
    }

    /// Gives up the symbols before ``first``.
    fn slide(&mut self, first: u64) {
        self.decoder.slide(first);
    }

    #[getter]
    fn rank(&self) -> usize {
        self.decoder.rank()
    }

    /// Returns a number as ``Decoder.next_known`` does.
    fn next_known(&mut self) -> Option<u64> {
        self.decoder.next_known()
    }

    /// Returns a symbol as ``Decoder.symbol`` does, while it is in the window.
    fn symbol<'py>(&self, py: Python<'py>, index: u64) -> Option<Bound<'py, PyBytes>> {
        self.decoder.symbol(index).map(|symbol| PyBytes::new(py, symbol))
    }
}
