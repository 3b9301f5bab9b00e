//! The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), as far as
//! Perfetto's track events need it: fields of messages, appended to bytes. Field numbers are those
//! of `perfetto/trace/*.proto`; the test reads the output with Perfetto's own parser.

/// A message whose fields are appended to the bytes of the one around it.
pub(super) struct Message<'a> {
    out: &'a mut Vec<u8>,
}

/// Value of a slice's annotation (`DebugAnnotation`).
pub(super) enum Annotation<'a> {
    Number(u64),
    /// A duration in ns.
    Nanos(u64),
    Text(&'a str),
    Flag(bool),
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
/// Bytes of a message's length: messages are shorter than 2^28 bytes.
const LENGTH_BYTES: usize = 4;

impl<'a> Message<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends an integer that is not negative: uint64, uint32, int32 or an enum.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | VARINT);
        self.varint(value);
    }

    /// Appends a fixed64 field.
    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | FIXED64);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a double field.
    pub(super) fn double(&mut self, field: u64, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// Appends a string field.
    pub(super) fn text(&mut self, field: u64, text: &str) {
        self.varint(field << 3 | LENGTH);
        self.varint(text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends a nested message.
    pub(super) fn message(&mut self, field: u64, write: impl FnOnce(&mut Message<'_>)) {
        self.varint(field << 3 | LENGTH);
        // The length is not known yet: a varint may have more bytes than it needs.
        let at = self.out.len();
        self.out.extend_from_slice(&[0; LENGTH_BYTES]);
        write(&mut Message { out: self.out });
        let length = self.out.len() - at - LENGTH_BYTES;
        for (index, byte) in self.out[at..at + LENGTH_BYTES].iter_mut().enumerate() {
            let more = if index + 1 < LENGTH_BYTES { 0x80 } else { 0 };
            *byte = (length >> (7 * index)) as u8 & 0x7f | more;
        }
    }

    pub(super) fn annotation(&mut self, field: u64, name: &str, note: &Annotation<'_>) {
        self.message(field, |it| {
            match note {
                Annotation::Nanos(_) => it.text(10, &format!("{name}_ns")),
                _ => it.text(10, name),
            }
            match note {
                Annotation::Number(value) | Annotation::Nanos(value) => it.number(3, *value),
                Annotation::Text(text) => it.text(6, text),
                Annotation::Flag(is) => it.number(2, u64::from(*is)),
            }
        });
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}
