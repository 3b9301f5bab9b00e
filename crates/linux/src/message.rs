//! Netlink messages as bytes: writing requests, reading messages and their attributes (netlink(7);
//! linux/netlink.h). Numbers are in the machine's order. Pure; leaves out the meaning of a family's
//! attributes.

/// Length of `nlmsghdr`.
pub const HEADER: usize = 16;
/// Bits of an attribute's type that are flags: nested, byte order.
const TYPE_FLAGS: u16 = 0xc000;

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Message {
    data: Vec<u8>,
}

impl Message {
    /// A message of type `kind` with `NLM_F_REQUEST` and `flags`.
    pub fn new(kind: u16, flags: i32) -> Self {
        let mut data = vec![0; 4];
        data.extend(kind.to_ne_bytes());
        data.extend(((flags | libc::NLM_F_REQUEST) as u16).to_ne_bytes());
        data.extend([0; 8]);
        Self { data }
    }

    /// Appends bytes as they are, such as a family's own header.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.data.extend(bytes);
        self.align();
    }

    /// Appends an attribute.
    pub fn bytes(&mut self, kind: u16, value: &[u8]) {
        self.data.extend((4 + value.len() as u16).to_ne_bytes());
        self.data.extend(kind.to_ne_bytes());
        self.data.extend(value);
        self.align();
    }

    /// Appends an attribute of 32 bits.
    pub fn u32(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends an attribute of 64 bits.
    pub fn u64(&mut self, kind: u16, value: u64) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends a text that ends in a zero byte.
    pub fn text(&mut self, kind: u16, value: &str) {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes);
    }

    /// Appends an attribute whose value `inside` appends.
    pub fn nest(&mut self, kind: u16, inside: impl FnOnce(&mut Self)) {
        let start = self.data.len();
        self.bytes(kind, &[]);
        inside(self);
        let length = (self.data.len() - start) as u16;
        self.data[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    /// The bytes of the message, with its length and this sequence number.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.data.len() as u32;
        self.data[0..4].copy_from_slice(&length.to_ne_bytes());
        self.data[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.data
    }

    fn align(&mut self) {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
    }
}

/// A message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Type of the message, `nlmsg_type`.
    pub kind: u16,
    /// Sequence number of the request; 0 for none.
    pub sequence: u32,
    /// Everything behind the header.
    pub payload: &'a [u8],
}

impl Received<'_> {
    /// The code of `NLMSG_ERROR`: zero or more for success, else a negative error number. `None`
    /// if this is another message.
    pub fn outcome(&self) -> Option<i32> {
        if i32::from(self.kind) != libc::NLMSG_ERROR {
            return None;
        }
        Some(self.payload.first_chunk().map_or(-libc::EBADMSG, |code| i32::from_ne_bytes(*code)))
    }
}

/// Iterates over the messages of a datagram, up to the first truncated one.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Received<'_>> {
    let mut rest = datagram;
    core::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let message = rest.get(..length).filter(|message| message.len() >= HEADER)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Received {
            kind: u16::from_ne_bytes([message[4], message[5]]),
            sequence: u32::from_ne_bytes([message[8], message[9], message[10], message[11]]),
            payload: &message[HEADER..],
        })
    })
}

/// Attributes by type; a cut attribute ends them.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let [a, b, c, d] = *rest.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & !TYPE_FLAGS, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::new(7, libc::NLM_F_ACK);
        message.raw(&[1, 2, 3, 4]);
        message.text(1, "abc");
        message.nest(2, |inner| {
            inner.u32(3, 5);
            inner.u64(4, 6);
        });
        message.bytes(5, &[9]);
        let bytes = message.finish(77);
        let all: Vec<_> = messages(&bytes).collect();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].kind, all[0].sequence, all[0].outcome()), (7, 77, None));
        let (head, rest) = all[0].payload.split_at(4);
        assert_eq!(head, [1, 2, 3, 4]);
        let attributes: Vec<_> = super::attributes(rest).collect();
        assert_eq!(attributes[0], (1, &b"abc\0"[..]));
        assert_eq!(attributes[1].0, 2);
        let inner: Vec<_> = super::attributes(attributes[1].1).collect();
        assert_eq!(inner, [(3, &5u32.to_ne_bytes()[..]), (4, &6u64.to_ne_bytes()[..])]);
        assert_eq!(attributes[2], (5, &[9][..]));
        // Wherever it is cut, what is left is whole.
        for end in 0..bytes.len() {
            assert_eq!(messages(&bytes[..end]).count(), 0);
            assert!(super::attributes(&rest[..end.min(rest.len())]).count() <= 3);
        }
    }

    #[test]
    fn lengths_that_lie_end_the_list() {
        assert_eq!(messages(&[0; 64]).count(), 0);
        assert_eq!(attributes(&[3, 0, 1, 0, 0, 0, 0, 0]).count(), 0);
        assert_eq!(attributes(&[255, 255, 1, 0, 0, 0, 0, 0]).count(), 0);
        assert_eq!(attributes(&[4, 0, 1, 0, 4, 0, 2, 0]).count(), 2);
    }
}
