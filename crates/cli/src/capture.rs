//! `lasthop capture`: a capture of 802.11 (or of a wire), from a file or the standard input, read
//! and analysed.

mod context;
mod join;
mod joined;
mod report;

use crate::args::Capture;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Runs the command.
pub fn capture(args: &Capture) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let name = args.file.display().to_string();
    let failed = |why: &dyn std::fmt::Display| Failure::message(format!("{name}: {why}"));
    let context = context::read(&args.context)?;
    let mut together = join::Together::read(args, &interrupt)?;
    let source = together.open(&args.file).map_err(|why| failed(&why))?;
    let mut capture = file::Capture::open(source).map_err(|why| failed(&why))?;
    let mut analysis = Analysis::default();
    together.watch(&mut analysis);
    loop {
        match capture.next_packet() {
            Ok(Some(packet)) => {
                analysis.handle_packet(&packet);
                together.take(&mut analysis);
            }
            Ok(None) => break,
            Err(error) => {
                analysis.handle_error(&error);
                break;
            }
        }
        if analysis.packets % 4_096 == 0 && interrupt.came() {
            break;
        }
    }
    analysis.finish();
    together.take(&mut analysis);
    is_readable(&name, &analysis)?;
    let document = CaptureDocument::new(&name, &analysis).with_interfaces(&mut analysis);
    tell_cut(&name, &analysis);
    let joined = together.join(&name, &analysis, context, &interrupt)?;
    let unaligned = joined.as_ref().map(join::unaligned).unwrap_or_default();
    let document = match joined {
        Some(joined) => document.with_joined(joined),
        None => document,
    };
    let text = match args.json {
        true => document.to_json(),
        false => report::report(&document, Stream::Output),
    };
    console::print(&text)?;
    if unaligned.is_empty() { Ok(()) } else { Err(Failure::Message(unaligned.join("\n"))) }
}

/// Whether there is something in a capture that can be read.
fn is_readable(name: &str, analysis: &Analysis) -> Result<(), Failure> {
    let failed = |why: &str| Err(Failure::message(format!("{name}: {why}")));
    if analysis.packets == 0 {
        let why = analysis.errors.first().map_or("there is no packet in it", |e| &e.message);
        return failed(why);
    }
    if analysis.counts.unsupported == analysis.packets {
        let kinds: Vec<_> = analysis.links.keys().map(ToString::to_string).collect();
        let supported = lasthop_capture::link::LinkType::SUPPORTED;
        let kinds = kinds.join(", ");
        return failed(&format!("cannot read packets of {kinds}; what can be read: {supported}"));
    }
    Ok(())
}

/// Says where a capture ends before its end.
fn tell_cut(name: &str, analysis: &Analysis) {
    for error in &analysis.errors {
        if error.frame.is_none() {
            console::error(&format!("{name}: {}\n", error.message));
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match is_standard_input(path) {
        true => Ok(Box::new(io::stdin())),
        false => Ok(Box::new(File::open(path)?)),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.to_str() == Some("-")
}
