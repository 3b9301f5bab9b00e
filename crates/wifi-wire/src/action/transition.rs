//! The BSS Transition Management Request (IEEE 802.11-2020, 9.6.13.9), with which an access point
//! asks a station to change to another.

use crate::Error;
use crate::elements::Elements;
use crate::reader::Reader;
use alloc::vec::Vec;

/// Fields of a BSS Transition Management Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitionRequest<'a> {
    /// Number that matches the response to the request; 0 if a query did not ask for it.
    pub dialog_token: u8,
    /// Request Mode. The bits of the optional fields follow from these.
    pub mode: u8,
    /// Disassociation Timer: beacon intervals until the station is removed; 0 if it is not known.
    pub disassociation_timer: u16,
    /// Validity Interval: beacon intervals for which the candidates are valid.
    pub validity_interval: u8,
    /// BSS Termination Duration, if the access point stops.
    pub termination: Option<Termination>,
    /// Session Information URL of up to 255 bytes, if the network stops; more are left out.
    pub url: Option<&'a [u8]>,
    /// Candidates: Neighbor Report elements, unchecked.
    pub candidates: Elements<'a>,
}

/// BSS Termination Duration subelement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Termination {
    /// Time of the stop by the timing synchronization function in microseconds.
    pub timestamp_us: u64,
    /// Duration of the stop in minutes; 0 for ever.
    pub duration_min: u16,
}

impl<'a> TransitionRequest<'a> {
    /// Request Mode, bit 0: candidates are listed.
    pub const CANDIDATES: u8 = 1 << 0;
    /// Request Mode, bit 1: access points that are not listed have the lowest preference.
    pub const ABRIDGED: u8 = 1 << 1;
    /// Request Mode, bit 2: the station will be removed.
    pub const DISASSOCIATION_IMMINENT: u8 = 1 << 2;

    const TERMINATION: u8 = 1 << 3;
    const URL: u8 = 1 << 4;
    /// Subelement ID and length of BSS Termination Duration.
    const TERMINATION_HEADER: u16 = u16::from_be_bytes([4, 10]);

    /// Reads the fields after category and action.
    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let dialog_token = reader.u8("dialog token")?;
        let mode = reader.u8("request mode")?;
        let disassociation_timer = reader.u16("disassociation timer")?;
        let validity_interval = reader.u8("validity interval")?;
        let termination = if mode & Self::TERMINATION == 0 {
            None
        } else {
            let offset = reader.offset();
            let header = u16::from_be_bytes(reader.array("BSS termination duration")?);
            if header != Self::TERMINATION_HEADER {
                let (found, allowed) = (u32::from(header), "subelement 4 of 10 octets");
                return Err(reader.value("BSS termination duration", offset, found, allowed));
            }
            let timestamp_us = reader.u64("BSS termination TSF")?;
            Some(Termination { timestamp_us, duration_min: reader.u16("duration")? })
        };
        let url = if mode & Self::URL == 0 {
            None
        } else {
            let length = reader.u8("session information URL length")?;
            Some(reader.take("session information URL", usize::from(length))?)
        };
        Ok(Self {
            dialog_token,
            mode: mode & !(Self::TERMINATION | Self::URL),
            disassociation_timer,
            validity_interval,
            termination,
            url,
            candidates: Elements::new(reader.rest()),
        })
    }

    /// Length of the fields after category and action in bytes.
    pub(super) const fn buffer_len(&self) -> usize {
        let termination = if self.termination.is_some() { 12 } else { 0 };
        let url = match self.url {
            Some(url) if url.len() > URL_LEN_MAX => 1 + URL_LEN_MAX,
            Some(url) => 1 + url.len(),
            None => 0,
        };
        5 + termination + url + self.candidates.as_bytes().len()
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let termination = if self.termination.is_some() { Self::TERMINATION } else { 0 };
        let url = if self.url.is_some() { Self::URL } else { 0 };
        let mode = self.mode & !(Self::TERMINATION | Self::URL) | termination | url;
        out.extend_from_slice(&[self.dialog_token, mode]);
        out.extend_from_slice(&self.disassociation_timer.to_le_bytes());
        out.push(self.validity_interval);
        if let Some(Termination { timestamp_us, duration_min }) = self.termination {
            out.extend_from_slice(&Self::TERMINATION_HEADER.to_be_bytes());
            out.extend_from_slice(&timestamp_us.to_le_bytes());
            out.extend_from_slice(&duration_min.to_le_bytes());
        }
        if let Some(url) = self.url {
            let url = &url[..url.len().min(URL_LEN_MAX)];
            out.push(url.len() as u8);
            out.extend_from_slice(url);
        }
        out.extend_from_slice(self.candidates.as_bytes());
    }
}

/// Longest Session Information URL in bytes.
const URL_LEN_MAX: usize = 255;
