//! Positions in time of the MPDUs of an A-MPDU (IEEE 802.11-2020, 9.7.1 and 10.12.3). Lengths are
//! in bytes.

use super::Flight;
use crate::mac::sizes;
use crate::phy::{Band, Rate};
use lasthop_units::{Duration, Instant};

/// A time on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub from: Instant,
    pub until: Instant,
}

/// Positions in time of the subframes of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Subframes {
    data_start: Instant,
    end: Instant,
    psdu_bytes: u32,
    spacing_bytes: u32,
    /// Index of the next subframe, and the number of subframes.
    pub index: usize,
    pub count: usize,
    /// Offset of the next subframe in the PSDU, in bytes.
    pub offset: u32,
}

impl Subframes {
    /// Returns the same A-MPDU with subframe `index` next, at `offset` of the PSDU.
    pub const fn from(self, index: usize, offset: u32) -> Self {
        Self { index, offset, ..self }
    }

    /// The subframes of an A-MPDU of `count` MPDUs whose starts are at least `spacing` apart, which
    /// fills a PPDU.
    pub fn new(flight: &Flight, count: usize, spacing: Duration, band: Band) -> Self {
        Self {
            data_start: flight.start + flight.rate.preamble_and_header(band),
            end: flight.end,
            psdu_bytes: flight.psdu_bytes,
            spacing_bytes: spacing_bytes(flight.rate, spacing),
            index: 0,
            count,
            offset: 0,
        }
    }

    /// The subframes of an A-MPDU of `count` MPDUs in a PPDU of several users, whose data begin and
    /// end at other instants than in an HE SU PPDU of that length.
    pub const fn of_user(
        data: Interval,
        psdu_bytes: u32,
        count: usize,
        spacing_bytes: u32,
    ) -> Self {
        let Interval { from: data_start, until: end } = data;
        Self { data_start, end, psdu_bytes, spacing_bytes, index: 0, count, offset: 0 }
    }

    /// Returns the span of the next subframe, whose MPDU has `mpdu_bytes`: from its delimiter to
    /// the last bit of the MPDU, or to the end of the PPDU for the last subframe.
    pub fn next(&mut self, mpdu_bytes: u32) -> Interval {
        let from = self.begin();
        Interval { from, until: self.next_end(mpdu_bytes) }
    }

    /// Does what [`Subframes::next`] does, and returns only the end.
    #[inline]
    pub fn next_end(&mut self, mpdu_bytes: u32) -> Instant {
        let until = self.end_of(mpdu_bytes);
        self.pass(mpdu_bytes);
        until
    }

    /// The instant at which the next subframe begins.
    pub fn begin(&self) -> Instant {
        self.at(self.offset)
    }

    /// Skips the next subframe, whose MPDU has `mpdu_bytes`.
    pub fn pass(&mut self, mpdu_bytes: u32) {
        self.offset += sizes::ampdu_subframe(mpdu_bytes, self.spacing_bytes);
        self.index += 1;
    }

    /// Skips the next `count` subframes, whose MPDUs have `mpdu_bytes` each.
    pub fn pass_all(&mut self, count: usize, mpdu_bytes: u32) {
        self.offset += count as u32 * sizes::ampdu_subframe(mpdu_bytes, self.spacing_bytes);
        self.index += count;
    }

    /// Whether all subframes end by `until`.
    pub fn end_by(&self, until: Instant) -> bool {
        self.end <= until
    }

    /// The instant at which the next subframe ends, if its MPDU has `mpdu_bytes`.
    pub fn end_of(&self, mpdu_bytes: u32) -> Instant {
        if self.index + 1 < self.count {
            self.at(self.offset + sizes::AMPDU_DELIMITER + mpdu_bytes)
        } else {
            self.end
        }
    }

    fn at(&self, bytes: u32) -> Instant {
        let data = self.end.saturating_since(self.data_start).as_nanos();
        // At most 65 539 bytes of less than an hour.
        let nanos = data * u64::from(bytes) / u64::from(self.psdu_bytes.max(1));
        self.data_start + Duration::from_nanos(nanos)
    }
}

/// Minimum length of an A-MPDU subframe at `rate`.
pub(crate) fn spacing_bytes(rate: Rate, spacing: Duration) -> u32 {
    (rate.bitrate().as_bps() * spacing.as_nanos()).div_ceil(8_000_000_000) as u32
}
