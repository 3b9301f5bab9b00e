//! `lasthop capture`: a capture of 802.11 (or of a wire), from a file, the standard input or an
//! interface, read and analysed. What goes on for long is watched (`watch`): a view of what is
//! found so far.

mod report;
mod source;
mod view;
mod watch;

use crate::args::Capture;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use source::{Source, Whole};
use watch::Watch;

/// Runs the command.
pub fn capture(args: &Capture) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let source = Source::open(args.file.as_deref(), args.live.as_deref())?;
    let name = source.name().to_owned();
    let failed = |why: &dyn std::fmt::Display| Failure::message(format!("{name}: {why}"));
    if let Some(note) = source.note() {
        console::error(&format!("{name}: {note}\n"));
    }
    let nothing = if source.is_interface() { "no packet came" } else { "there is no packet in it" };
    let mut analysis = if args.watch || source.goes_on() {
        let is_shown = console::is_view_wanted() && !args.json;
        Watch::new(args.watch, is_shown, &source).run(source, &interrupt)?
    } else {
        let mut whole = Whole { analysis: Analysis::default(), interrupt: &interrupt };
        source.read(&mut whole).map_err(|why| failed(&why))?;
        whole.analysis
    };
    analysis.finish();
    if analysis.packets == 0 {
        let why = analysis.errors.first().map_or(nothing, |e| &e.message);
        return Err(failed(&why));
    }
    if analysis.counts.unsupported == analysis.packets {
        let kinds: Vec<_> = analysis.links.keys().map(ToString::to_string).collect();
        let supported = lasthop_capture::link::LinkType::SUPPORTED;
        let kinds = kinds.join(", ");
        return Err(failed(&format!(
            "cannot read packets of {kinds}; what can be read: {supported}"
        )));
    }
    let document = CaptureDocument::new(&name, &analysis);
    for error in &document.errors {
        if error.frame.is_none() {
            console::error(&format!("{name}: {}\n", error.message));
        }
    }
    if args.json {
        return console::print(&document.to_json());
    }
    console::print(&report::report(&document, Stream::Output))
}
