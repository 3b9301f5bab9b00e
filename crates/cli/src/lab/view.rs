//! The live view: draws a [`Dashboard`] on the terminal in a separate thread, so that its callers
//! do not wait for drawing. `q` and Ctrl-C raise SIGINT in the process; the terminal is restored in
//! every case.

use crate::lab::dashboard::{Dashboard, Panel};
use crate::table::alone;
use lasthop_trace::Snapshot;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, SparklineBar};
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::SIGINT;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest time between two redraws, and between two readings of the keyboard.
const REDRAW_EVERY: Duration = Duration::from_millis(50);
/// Columns for the labels beside a plot.
const LABEL_COLUMNS: u16 = 26;
/// Lines of a plot, with the one after it.
const PANEL_LINES: u16 = 3;
/// Number of steps of the y axis of a plot.
const STEPS: f64 = 1000.0;

/// A visible view; dropping it ends it.
#[derive(Debug)]
pub struct View {
    messages: Option<mpsc::Sender<Message>>,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    Phase(String),
    Readings(Snapshot),
}

impl View {
    /// Shows `dashboard`. Shows nothing if the terminal does not support it.
    pub fn start(dashboard: Dashboard) -> Self {
        let (messages, received) = mpsc::channel();
        let thread = thread::spawn(move || {
            if let Ok(mut terminal) = ratatui::try_init() {
                show(&mut terminal, dashboard, &received);
                ratatui::restore();
            }
        });
        Self { messages: Some(messages), thread: Some(thread) }
    }

    /// Adds the readings of a snapshot.
    pub fn show(&self, snapshot: Snapshot) {
        self.send(Message::Readings(snapshot));
    }

    /// Starts a phase called `caption`.
    pub fn begin_phase(&self, caption: &str) {
        self.send(Message::Phase(caption.into()));
    }

    fn send(&self, message: Message) {
        if let Some(messages) = &self.messages {
            // A view that could not start does not receive.
            let _ = messages.send(message);
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn show(
    terminal: &mut DefaultTerminal,
    mut dashboard: Dashboard,
    received: &mpsc::Receiver<Message>,
) {
    loop {
        match received.recv_timeout(REDRAW_EVERY) {
            Ok(Message::Phase(caption)) => dashboard.begin_phase(&caption),
            Ok(Message::Readings(snapshot)) => dashboard.add_readings(&snapshot),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if is_end_wanted() {
            // The installed signal handlers do the rest.
            let _ = signal_hook::low_level::raise(SIGINT);
        }
        // A failure to draw may pass with the next resize.
        let _ = terminal.draw(|frame| draw(frame, &dashboard));
    }
}

/// Whether a key that ends the process was pressed.
fn is_end_wanted() -> bool {
    let mut is_wanted = false;
    while let Ok(true) = event::poll(Duration::ZERO) {
        let Ok(Event::Key(key)) = event::read() else { continue };
        is_wanted |= is_end(&key);
    }
    is_wanted
}

/// Whether a key ends the process: `q`, Esc, or Ctrl-C, which is a key while a view is shown.
pub fn is_end(key: &KeyEvent) -> bool {
    let is_interrupt =
        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    let is_quit = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc);
    key.kind == KeyEventKind::Press && (is_interrupt || is_quit)
}

fn draw(frame: &mut Frame<'_>, dashboard: &Dashboard) {
    let [head, _, captions, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(u16::from(
            dashboard.phases.iter().any(|(caption, _)| !caption.is_empty()),
        )),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .horizontal_margin(1)
    .areas(frame.area());
    let title = Line::from(vec!["lasthop ".dim(), Span::from(dashboard.title.as_str()).bold()]);
    frame.render_widget(Paragraph::new(title), head);
    let clock = format!(
        "{:.1} of {} s",
        dashboard.now_s.min(dashboard.length_s),
        alone(dashboard.length_s)
    );
    frame.render_widget(Paragraph::new(clock).right_aligned(), head);
    draw_captions(frame, dashboard, captions);
    let mut area = Rect { height: PANEL_LINES, ..body };
    for panel in &dashboard.panels {
        if area.bottom() > body.bottom() {
            break;
        }
        draw_panel(frame, dashboard, panel, area);
        area.y += PANEL_LINES + 1;
    }
    frame.render_widget(Paragraph::new("q ends".dim()), foot);
}

/// Returns the area of the plots, beside the labels.
fn plots(area: Rect) -> Rect {
    let label = LABEL_COLUMNS.min(area.width / 2);
    Rect { x: area.x + label, width: area.width - label, ..area }
}

/// Returns the column of the instant `at_s`, in seconds.
fn column(dashboard: &Dashboard, at_s: f64, plots: Rect) -> u16 {
    plots.x + (at_s / dashboard.length_s * f64::from(plots.width)) as u16
}

fn draw_captions(frame: &mut Frame<'_>, dashboard: &Dashboard, area: Rect) {
    if area.height == 0 {
        return;
    }
    let plots = plots(area);
    for (index, (caption, begin_s)) in dashboard.phases.iter().enumerate() {
        let x = column(dashboard, *begin_s, plots);
        let end = dashboard
            .phases
            .get(index + 1)
            .map_or(plots.right(), |(_, end_s)| column(dashboard, *end_s, plots));
        let place = Rect { x, width: end.saturating_sub(x), ..plots };
        let place = place.intersection(plots);
        frame.render_widget(Paragraph::new(caption.as_str().bold()), place);
    }
}

fn draw_panel(frame: &mut Frame<'_>, dashboard: &Dashboard, panel: &Panel, area: Rect) {
    let plot = plots(area);
    let label = Rect { width: plot.x - area.x, ..area };
    let latest = panel.latest().map_or_else(|| "-".to_owned(), alone);
    let lines = vec![
        Line::from(panel.title.as_str().bold()),
        Line::from(vec![Span::from(latest), " ".into(), panel.unit.dim()]),
        Line::from(format!("max {}", alone(panel.max())).dim()),
    ];
    frame.render_widget(Paragraph::new(lines), label);
    let max = panel.max().max(f64::MIN_POSITIVE);
    let bars = panel.columns(usize::from(plot.width), dashboard.length_s);
    let bars = bars
        .into_iter()
        .map(|value| SparklineBar::from(value.map(|value| (value / max * STEPS).round() as u64)));
    let sparkline = Sparkline::default()
        .data(bars.collect::<Vec<_>>())
        .max(STEPS as u64)
        .style(Style::new().fg(Color::Cyan));
    frame.render_widget(sparkline, plot);
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::NodeId;
    use lasthop_trace::{FlowKind, FlowName, FlowReading, Names, NodeName};
    use lasthop_units::{Bytes, Instant};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_dashboard_fits_a_small_terminal() {
        let names = Names {
            francs: Vec::new(),
            hosts: Default::default(),
            nodes: ["ap", "laptop"]
                .map(|name| NodeName { name: name.into(), ..NodeName::default() })
                .into(),
            neighbours: Vec::new(),
            stations: vec![NodeId(0), NodeId(1)],
            access_points: vec![lasthop_wifi::StationId(0); 2],
            links: Vec::new(),
            link_of: Vec::new(),
            roams: false,
            flows: vec![FlowName {
                name: "up".into(),
                kind: FlowKind::Udp,
                table: None,
                saturated: false,
                experience: None,
                from: NodeId(1),
                to: NodeId(0),
                start: Instant::ZERO,
                stop: None,
            }],
        };
        let second = lasthop_units::Duration::from_secs(1);
        let mut dashboard = Dashboard::new("test", &names, second * 4);
        for (caption, bytes) in [("before", 125_000), ("after", 500_000)] {
            dashboard.begin_phase(caption);
            for n in 1..=2 {
                dashboard.add_readings(&Snapshot {
                    at: Instant::ZERO + second * n,
                    interval: second,
                    flows: vec![FlowReading {
                        payload: Bytes::new(bytes),
                        ..FlowReading::default()
                    }],
                    ..Snapshot::default()
                });
            }
        }
        let mut terminal = Terminal::new(TestBackend::new(50, 12)).expect("no terminal to fail");
        terminal.draw(|frame| draw(frame, &dashboard)).expect("no terminal to fail");
        insta::assert_snapshot!(terminal.backend());
    }
}
