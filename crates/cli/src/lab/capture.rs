//! `lasthop capture`: reads and analyses a capture of 802.11 (or of a wire), from a file, the
//! standard input or an interface. A capture that continues has a live view of the results so far.
//!
//! | module | content |
//! |---|---|
//! | `source` | sources of packets |
//! | `watch`, `view` | results so far, each second |
//! | `join`, `context` | simultaneous captures, and other results beside them |
//! | `segments` | segments seen by several captures, as rows and by second |
//! | `files` | the files of `--out` |
//!
//! Words and pages are in `lasthop_report::capture`.

mod context;
mod files;
mod join;
mod segments;
mod source;
mod view;
mod watch;

use crate::args::Capture;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::simulate::lock;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::decrypt::Credentials;
use lasthop_capture::document::CaptureDocument;
use lasthop_report::capture::text;
use lasthop_trace::OutputDir;
use source::{Source, Whole};
use watch::CaptureWatch;
use zeroize::Zeroizing;

/// Runs the command.
pub fn capture(args: &Capture) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let _lock = lock(args.out.as_deref())?;
    let context = context::read(&args.context)?;
    let credentials = credentials(args)?;
    let mut together = join::Together::read(args, &credentials, &interrupt)?;
    let (name, analysis) = match &mut together {
        Some(together) => together.read_first(&interrupt)?,
        None => alone(args, credentials, &interrupt)?,
    };
    let document = CaptureDocument::new(&name, &analysis).with_interfaces(&analysis);
    report_cut(&name, &analysis);
    let mut out = args.out.as_ref().map(OutputDir::create).transpose().map_err(Failure::message)?;
    let (document, by_second, unaligned) = match together {
        Some(together) => {
            let (mut joined, by_second) =
                together.join(&name, &analysis, out.as_mut(), &interrupt)?;
            joined.context = context;
            let unaligned = join::unaligned(&joined);
            (document.with_joined(joined), by_second, unaligned)
        }
        None => (document.with_context(context), Vec::new(), Vec::new()),
    };
    if let Some(out) = out {
        files::write(out, &analysis, &document, &by_second)?;
    }
    let text = if args.json {
        document.to_json()
    } else {
        text::report(&document, Stream::Output.style())
    };
    console::print(&text)?;
    if unaligned.is_empty() { Ok(()) } else { Err(Failure::Message(unaligned.join("\n"))) }
}

/// Reads one source to its end; returns its name and its analysis.
fn alone(
    args: &Capture,
    credentials: Credentials,
    interrupt: &Interrupt,
) -> Result<(String, Analysis), Failure> {
    let source = Source::open(args.file.as_deref(), args.live.as_deref())?;
    let name = source.name().to_owned();
    if let Some(note) = source.note() {
        console::error(&format!("{name}: {note}\n"));
    }
    let is_interface = source.is_interface();
    let nothing = if is_interface { "no packet came" } else { NOTHING };
    let analysis = Analysis::new(credentials);
    let mut analysis = if args.watch || source.goes_on() {
        let is_shown = console::is_view_wanted() && !args.json;
        CaptureWatch::new(args.watch, is_shown, &source).run(source, analysis, interrupt)?
    } else {
        let mut whole = Whole { analysis, interrupt };
        let result = source.read(&mut whole);
        has_come(&whole.analysis, interrupt)?;
        result.map_err(|why| Failure::message(format!("{name}: {why}")))?;
        whole.analysis
    };
    analysis.finish();
    if !is_interface {
        has_come(&analysis, interrupt)?;
    }
    is_readable(&name, &analysis, nothing)?;
    Ok((name, analysis))
}

/// Message about a file without packets.
const NOTHING: &str = "there is no packet in it";

/// Fails after an interrupt before the first packet, when there is nothing to report.
fn has_come(analysis: &Analysis, interrupt: &Interrupt) -> Result<(), Failure> {
    if analysis.packets == 0 { interrupt.check() } else { Ok(()) }
}

/// Fails if a capture has no readable packets.
fn is_readable(name: &str, analysis: &Analysis, nothing: &str) -> Result<(), Failure> {
    let failed = |why: &str| Err(Failure::message(format!("{name}: {why}")));
    if analysis.packets == 0 {
        let why = analysis.file.errors.first().map_or(nothing, |e| &e.message);
        return failed(why);
    }
    if analysis.file.counts.unsupported == analysis.packets {
        let kinds: Vec<_> = analysis.links.keys().map(ToString::to_string).collect();
        let supported = lasthop_capture::link::LinkType::SUPPORTED;
        let kinds = kinds.join(", ");
        return failed(&format!("cannot read packets of {kinds}; what can be read: {supported}"));
    }
    Ok(())
}

/// Reports where a truncated capture ends.
fn report_cut(name: &str, analysis: &Analysis) {
    for error in &analysis.file.errors {
        if error.frame.is_none() {
            console::error(&format!("{name}: {}\n", error.message));
        }
    }
}

/// Returns the passphrases and keys of the arguments and of files. Messages do not repeat them.
fn credentials(args: &Capture) -> Result<Credentials, Failure> {
    let mut credentials = Credentials::default();
    for (index, text) in args.psk.iter().enumerate() {
        let failed = |why| Failure::message(format!("--psk, number {}: {why}", index + 1));
        credentials.add(text.as_bytes()).map_err(failed)?;
    }
    for path in &args.psk_file {
        let name = path.display();
        let text = std::fs::read(path).map_err(|why| Failure::message(format!("{name}: {why}")))?;
        let text = Zeroizing::new(text);
        credentials
            .add_lines(&text)
            .map_err(|(line, why)| Failure::message(format!("{name}, line {line}: {why}")))?;
    }
    Ok(credentials)
}
