//! The live view of a capture: the channel in one line, stations as a table (on a wire: flows),
//! findings below, with new ones marked. On a narrow terminal the least important columns are left
//! out. Keys are read from the terminal, even if packets come from a pipe.

use crate::lab::view::is_end;
use crate::table::{count, value, wrapped};
use lasthop_capture::live::{Order, Reading, Row, State, Traffic};
use lasthop_capture::rate::{Format, Rate};
use lasthop_units::Duration;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};

/// A visible view; dropping it restores the terminal.
#[derive(Debug)]
pub struct View {
    terminal: DefaultTerminal,
    screen: Screen,
}

/// Result of a look at the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The user wants to end the capture.
    End,
    /// No key, or one that only changes the view.
    Nothing,
}

/// Content of the screen.
#[derive(Debug, Default)]
struct Screen {
    name: String,
    note: Option<String>,
    reading: Reading,
    dropped: u64,
    /// Time since the capture began.
    length: Duration,
    order: Order,
    is_received: bool,
    /// Number of stations above the first visible one.
    above: usize,
    /// Number of stations that fit on the screen.
    shown: usize,
}

impl View {
    /// Shows a view without readings; `None` if the terminal does not support it.
    pub fn start(name: &str, note: Option<String>) -> Option<Self> {
        let terminal = ratatui::try_init().ok()?;
        let screen = Screen { name: name.to_owned(), note, ..Screen::default() };
        let mut view = Self { terminal, screen };
        view.draw();
        Some(view)
    }

    /// Shows a reading, the packets dropped by the kernel, and the time since the capture began.
    pub fn show(&mut self, reading: Reading, dropped: u64, length: Duration) {
        (self.screen.reading, self.screen.dropped, self.screen.length) = (reading, dropped, length);
        self.screen.sort();
        self.draw();
    }

    /// Waits for a key, at most `longest`, and handles it.
    pub fn look(&mut self, longest: std::time::Duration) -> Action {
        match event::poll(longest) {
            Ok(true) => {}
            Ok(false) => return Action::Nothing,
            // The terminal is gone: wait all the same.
            Err(_) => {
                std::thread::park_timeout(longest);
                return Action::Nothing;
            }
        }
        match event::read() {
            Ok(Event::Key(key)) if is_end(&key) => return Action::End,
            Ok(Event::Key(key)) if self.screen.handle_key(&key) => self.draw(),
            Ok(Event::Resize(..)) => self.draw(),
            _ => {}
        }
        Action::Nothing
    }

    fn draw(&mut self) {
        let screen = &mut self.screen;
        // A failure to draw may pass with the next resize.
        let _ = self.terminal.draw(|frame| screen.draw(frame));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// A column of the table.
struct Column {
    name: &'static str,
    width: usize,
    /// Order of leaving columns out, the greatest first.
    rank: u8,
    is_text: bool,
    cell: fn(&Screen, &Row) -> String,
}

const fn number(
    name: &'static str,
    width: usize,
    rank: u8,
    cell: fn(&Screen, &Row) -> String,
) -> Column {
    Column { name, width, rank, is_text: false, cell }
}

const fn text(
    name: &'static str,
    width: usize,
    rank: u8,
    cell: fn(&Screen, &Row) -> String,
) -> Column {
    Column { name, width, rank, is_text: true, cell }
}

/// Columns from left to right. They show the last second, except for `mean` (of the PHY rate) and
/// `all%` (of the time on the air), which count from the start.
const COLUMNS: [Column; 13] = [
    text("station", 18, 0, |_, row| {
        format!("{}{}", row.address, if row.access_point { "*" } else { "" })
    }),
    text("network", 12, 8, |_, row| plain(&row.network)),
    number("dBm", 4, 2, |_, row| row.signal_dbm.map_or(String::new(), |dbm| format!("{dbm:.0}"))),
    text("rate", 12, 9, |screen, row| screen.traffic(row).rate.map_or(String::new(), rate)),
    number("PHY", 6, 3, |screen, row| optional(screen.traffic(row).rate_mbps)),
    number("mean", 6, 10, |screen, row| optional(screen.traffic(row).rate_mbps_mean)),
    number("MPDU/s", 6, 4, |screen, row| whole(screen.traffic(row).mpdus_per_s)),
    number("retry%", 6, 1, |screen, row| screen.traffic(row).retries.map_or(String::new(), tenths)),
    number("air%", 5, 0, |screen, row| tenths(screen.traffic(row).airtime)),
    number("all%", 5, 6, |screen, row| tenths(screen.traffic(row).airtime_mean)),
    number("Mb/s", 6, 2, |screen, row| nonzero(screen.traffic(row).throughput_mbps)),
    number("A-MPDU", 6, 5, |screen, row| mean(screen.traffic(row).mpdus_per_ampdu)),
    text("state", 10, 7, |_, row| row.state.map_or(String::new(), state)),
];

impl Screen {
    fn traffic<'a>(&self, row: &'a Row) -> &'a Traffic {
        if self.is_received { &row.received } else { &row.sent }
    }

    fn sort(&mut self) {
        let direction: fn(&Row) -> &Traffic =
            if self.is_received { |row| &row.received } else { |row| &row.sent };
        self.order.sort(&mut self.reading.stations, direction);
    }

    /// Handles a key; returns whether the screen changes.
    fn handle_key(&mut self, key: &KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let page = self.shown.max(1);
        match key.code {
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('d') => self.is_received = !self.is_received,
            KeyCode::Down | KeyCode::Char('j') => self.above += 1,
            KeyCode::Up | KeyCode::Char('k') => self.above = self.above.saturating_sub(1),
            KeyCode::PageDown => self.above += page,
            KeyCode::PageUp => self.above = self.above.saturating_sub(page),
            KeyCode::Home => self.above = 0,
            KeyCode::End => self.above = usize::MAX,
            _ => return false,
        }
        self.sort();
        true
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let has_note = u16::from(self.note.is_some());
        let [head, note, _, body, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(has_note),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .horizontal_margin(1)
        .areas(frame.area());
        frame.render_widget(Paragraph::new(self.head()), head);
        if let Some(text) = &self.note {
            frame.render_widget(Paragraph::new(text.as_str().fg(Color::Yellow)), note);
        }
        let findings = self.findings(usize::from(body.width));
        // Findings get what stations do not need, and a third at least.
        let stations = self.rows() + 1;
        let height = usize::from(body.height);
        let below = findings.len().min((height / 3).max(height.saturating_sub(stations + 1)));
        let above = height.saturating_sub(below + 1);
        let [table, _, list] = Layout::vertical([
            Constraint::Length(above.min(stations) as u16),
            Constraint::Length(1),
            Constraint::Length(below as u16),
        ])
        .areas(body);
        if self.reading.flows.is_empty() {
            self.draw_stations(frame, table)
        } else {
            self.draw_flows(frame, table)
        }
        frame.render_widget(Paragraph::new(findings), list);
        let direction = if self.is_received { "received" } else { "sent" };
        let keys =
            format!("q ends   s: by {}   d: {direction}   \u{2191}\u{2193}", self.order.name());
        frame.render_widget(Paragraph::new(keys.dim()), foot);
    }

    /// Returns the line about the channel.
    fn head(&self) -> Line<'_> {
        let reading = &self.reading;
        let mut parts = vec![clock(self.length)];
        parts.extend(reading.frequency_mhz.map(channel));
        parts.extend(reading.busy.map(|share| format!("air {:.1} %", 100.0 * share)));
        parts.extend(reading.captured.map(|share| format!("captured {:.1} %", 100.0 * share)));
        parts.push(format!("{} frames/s", count(reading.frames_per_s.round() as u64)));
        if reading.strangers > 0 {
            parts.push(format!("{} others", count(reading.strangers as u64)));
        }
        let mut line = Line::from(vec!["lasthop ".dim(), self.name.as_str().bold()]);
        line.push_span(Span::from(format!("   {}", parts.join("   "))));
        if self.dropped > 0 {
            let dropped = format!("   {} dropped by the kernel", count(self.dropped));
            line.push_span(dropped.fg(Color::Red));
        }
        line
    }

    /// Number of rows of the table: stations, or else flows.
    fn rows(&self) -> usize {
        self.reading.stations.len().max(self.reading.flows.len())
    }

    /// Records the area of the table, and limits the scroll position.
    fn scroll(&mut self, area: Rect) {
        self.shown = usize::from(area.height).saturating_sub(1);
        self.above = self.above.min(self.rows().saturating_sub(self.shown));
    }

    fn draw_flows(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.scroll(area);
        let names = usize::from(area.width).saturating_sub(38).clamp(20, 60);
        let line = |name: &str, cells: [String; 4]| {
            let mut text = fitted(name, names, true);
            for (cell, width) in cells.iter().zip([7, 7, 7, 7]) {
                text.push_str("  ");
                text.push_str(&fitted(cell, width, false));
            }
            text
        };
        let head = ["pkt/s", "Mb/s", "again", "ack ms"].map(str::to_owned);
        let mut lines = vec![Line::from(line("flow", head).dim())];
        for row in self.reading.flows.iter().skip(self.above).take(self.shown) {
            let cells = [
                whole(row.packets_per_s),
                nonzero(row.throughput_mbps),
                whole(row.retransmissions as f64),
                optional(row.ack_ms),
            ];
            lines.push(Line::from(line(&row.name, cells)));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_stations(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let columns = fitting(usize::from(area.width));
        self.scroll(area);
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let mut text = String::new();
            for (column, cell) in columns.iter().zip(cells) {
                text.push_str(&fitted(&cell, column.width, column.is_text));
                text.push_str("  ");
            }
            text.trim_end().to_owned()
        };
        let names = line(&mut columns.iter().map(|column| column.name.to_owned()));
        let mut lines = vec![Line::from(names.dim())];
        for row in self.reading.stations.iter().skip(self.above).take(self.shown) {
            let text = line(&mut columns.iter().map(|column| (column.cell)(self, row)));
            let is_silent = row.sent.airtime == 0.0 && row.received.airtime == 0.0;
            let is_away = matches!(row.state, Some(State::Away(_)));
            lines.push(Line::from(match (is_away, is_silent) {
                (true, _) => text.fg(Color::Yellow),
                (false, true) => text.dim(),
                (false, false) => text.into(),
            }));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// Returns the findings in lines of at most `width` columns.
    fn findings(&self, width: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (index, found) in self.reading.findings.iter().enumerate() {
            let head = format!("{:>2}. ", index + 1);
            let mark = if found.is_new() { "new: " } else { "" };
            let text = wrapped(&head, &format!("{mark}{}.", found.finding.sentence), width);
            for line in text.lines() {
                let line = plain(line);
                lines.push(if found.is_new() {
                    line.fg(Color::Yellow).into()
                } else {
                    line.into()
                });
            }
        }
        if lines.is_empty() {
            lines.push("nothing found so far".dim().into());
        }
        lines
    }
}

/// Returns the columns that fit the width.
fn fitting(width: usize) -> Vec<&'static Column> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    let needs = |columns: &[&Column]| columns.iter().map(|c| c.width + 2).sum::<usize>() - 2;
    while columns.len() > 1 && needs(&columns) > width {
        let rank = columns.iter().map(|column| column.rank).max().unwrap_or_default();
        let last = columns.iter().rposition(|column| column.rank == rank).unwrap_or_default();
        columns.remove(last);
    }
    columns
}

/// Pads or truncates a text to exactly `width` columns.
fn fitted(text: &str, width: usize, is_left: bool) -> String {
    let cut: String = text.chars().take(width).collect();
    let padding = " ".repeat(width - cut.chars().count());
    if is_left { format!("{cut}{padding}") } else { format!("{padding}{cut}") }
}

/// Removes control characters, which names from the air may contain.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn optional(number: Option<f64>) -> String {
    number.map_or(String::new(), value)
}

fn nonzero(number: f64) -> String {
    if number > 0.0 { value(number) } else { String::new() }
}

fn whole(number: f64) -> String {
    if number >= 0.5 { format!("{number:.0}") } else { String::new() }
}

fn mean(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| format!("{number:.1}"))
}

/// Formats a share in tenths of a per cent; empty without a number.
fn tenths(share: f64) -> String {
    if share > 0.0 { format!("{:.1}", 100.0 * share) } else { String::new() }
}

/// Formats a rate in few letters: family, MCS, streams, width in MHz.
fn rate(rate: Rate) -> String {
    let Rate { mcs, streams, width_mhz, .. } = rate;
    match rate.format {
        Format::Dsss => "DSSS".to_owned(),
        Format::Ofdm => "OFDM".to_owned(),
        Format::Ht => format!("HT {mcs} {width_mhz}M"),
        Format::Vht => format!("VHT {mcs}x{streams} {width_mhz}M"),
        Format::He => format!("HE {mcs}x{streams} {width_mhz}M"),
        Format::Eht => format!("EHT {mcs}x{streams} {width_mhz}M"),
    }
}

fn state(state: State) -> String {
    let since = |word: &str, since: Duration| match since.as_secs_f64() {
        s if s < 1.0 => format!("{word} {:.0}ms", s * 1e3),
        s => format!("{word} {s:.0}s"),
    };
    match state {
        State::Awake => "awake".to_owned(),
        State::Dozing(time) => since("dozes", time),
        State::Away(time) => since("away", time),
    }
}

/// Formats the time since the start as hours, minutes and seconds.
fn clock(length: Duration) -> String {
    let seconds = length.as_nanos() / 1_000_000_000;
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3_600);
    format!("{hours}:{minutes:02}:{:02}", seconds % 60)
}

/// Formats a channel by its centre in MHz (IEEE 802.11-2020, annex E).
fn channel(mhz: u16) -> String {
    let number = match mhz {
        2_484 => 14,
        2_412..2_484 => (mhz - 2_407) / 5,
        5_955..=7_115 => (mhz - 5_950) / 5,
        5_000..5_955 => (mhz - 5_000) / 5,
        _ => return format!("{mhz} MHz"),
    };
    format!("channel {number} ({mhz} MHz)")
}

#[cfg(test)]
mod tests;
