//! Fragmentation of elements and subelements whose information exceeds 255 octets (IEEE
//! 802.11-2020, 10.28.11 and 10.28.12; IEEE 802.11be-2024, 35.3.3 for subelements of Multi-Link
//! elements): a part of 255 octets, then parts with the ID of a fragment, all but the last full.

use super::{Elements, HEADER_LEN, id};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Subelement ID of a fragment.
const SUBELEMENT_FRAGMENT: u8 = 254;
const LEN_MAX: usize = 255;

impl<'a> Elements<'a> {
    /// Iterates over the extended elements with this number: their information after the number,
    /// with that of the Fragment elements behind. Only fragmented ones are copied.
    pub fn whole_extensions(&self, number: u8) -> impl Iterator<Item = Cow<'a, [u8]>> + use<'a> {
        let mut left = self.as_bytes();
        core::iter::from_fn(move || {
            loop {
                let (kind, data, behind) = next(left)?;
                left = behind;
                if kind == id::EXTENSION && data.first() == Some(&number) {
                    let data = whole(data, &mut left, id::FRAGMENT);
                    return Some(behind_number(data));
                }
            }
        })
    }
}

/// Iterates over subelements with their fragments; ends before the first incomplete one.
pub(super) fn whole_subelements(bytes: &[u8]) -> impl Iterator<Item = (u8, Cow<'_, [u8]>)> {
    let mut left = bytes;
    core::iter::from_fn(move || {
        let (kind, data, behind) = next(left)?;
        left = behind;
        Some((kind, whole(data, &mut left, SUBELEMENT_FRAGMENT)))
    })
}

/// Appends an extended element with this number, in fragments if it is too long for one element.
pub(super) fn emit_extension(number: u8, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&[id::EXTENSION, 0, number]);
    data(out);
    split(out, begin, id::FRAGMENT);
}

/// Appends a subelement, in fragments if it is too long for one.
pub(super) fn emit_subelement(kind: u8, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&[kind, 0]);
    data(out);
    split(out, begin, SUBELEMENT_FRAGMENT);
}

/// Sets the length of what begins there, and splits it.
fn split(out: &mut Vec<u8>, begin: usize, fragment: u8) {
    let length = out.len() - begin - HEADER_LEN;
    if length <= LEN_MAX {
        out[begin + 1] = length as u8;
        return;
    }
    let rest = out.split_off(begin + HEADER_LEN + LEN_MAX);
    out[begin + 1] = LEN_MAX as u8;
    for part in rest.chunks(LEN_MAX) {
        out.extend_from_slice(&[fragment, part.len() as u8]);
        out.extend_from_slice(part);
    }
}

/// Returns ID and data of the first (sub)element, and the bytes behind it.
fn next(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[kind, length], data) = bytes.split_first_chunk()?;
    let (data, behind) = data.split_at_checked(usize::from(length))?;
    Some((kind, data, behind))
}

/// Adds the fragments behind a full (sub)element, which leave `left`.
fn whole<'a>(data: &'a [u8], left: &mut &'a [u8], fragment: u8) -> Cow<'a, [u8]> {
    let mut whole = Cow::Borrowed(data);
    let mut last = data.len();
    while last == LEN_MAX
        && let Some((kind, part, behind)) = next(left)
        && kind == fragment
    {
        whole.to_mut().extend_from_slice(part);
        (*left, last) = (behind, part.len());
    }
    whole
}

fn behind_number(data: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match data {
        Cow::Borrowed(data) => Cow::Borrowed(data.get(1..).unwrap_or_default()),
        Cow::Owned(mut data) => {
            data.remove(0);
            Cow::Owned(data)
        }
    }
}
