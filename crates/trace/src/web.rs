//! The quality of web pages, as it is in documents: the time that a reader waits for them.

use crate::histogram::Histogram;
use crate::value::{TimeSummary, time_ms};
use lasthop_hosts::Page;
use lasthop_units::Instant;
use serde::{Deserialize, Serialize};

/// Pages of a reader, of those that the reader asked for in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebSummary {
    /// Number of pages that were loaded completely.
    pub pages: u64,
    /// Number of pages that were not complete at the end of the run.
    pub pages_unfinished: u64,
    /// Time from the reader's wish for a page until its last byte arrived, in ms, with the time in
    /// which the browser parses it. Of complete pages; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_load_ms: Option<TimeSummary>,
}

/// Pages during a run.
#[derive(Clone, Debug)]
pub(crate) struct WebTally {
    from: Instant,
    until: Instant,
    loads: Histogram,
    pages: u64,
    unfinished: u64,
}

impl WebTally {
    pub(crate) fn new(from: Instant, until: Instant) -> Self {
        Self { from, until, loads: Histogram::default(), pages: 0, unfinished: 0 }
    }

    /// Notes a page; those asked for outside the measured time do not count.
    pub(crate) fn add(&mut self, page: &Page) {
        if page.begun < self.from || page.begun > self.until {
            return;
        }
        match page.load {
            Some(load) => {
                self.pages += 1;
                self.loads.add(load.as_nanos());
            }
            None => self.unfinished += 1,
        }
    }

    /// Adds the pages of another reader.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.loads.merge(&other.loads);
        self.pages += other.pages;
        self.unfinished += other.unfinished;
    }

    pub(crate) fn summary(&self) -> WebSummary {
        WebSummary {
            pages: self.pages,
            pages_unfinished: self.unfinished,
            page_load_ms: time_ms(&self.loads),
        }
    }
}
