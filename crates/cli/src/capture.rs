//! `lasthop capture`: a capture of 802.11 (or of a wire), from a file or the standard input, read
//! and analysed.

mod report;

use crate::args::Capture;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::decrypt::Credentials;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// Runs the command.
pub fn capture(args: &Capture) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let name = args.file.display().to_string();
    let failed = |why: &dyn std::fmt::Display| Failure::message(format!("{name}: {why}"));
    let credentials = credentials(args)?;
    let source = open(&args.file).map_err(|why| failed(&why))?;
    let mut capture = file::Capture::open(source).map_err(|why| failed(&why))?;
    let mut analysis = Analysis::new(credentials);
    loop {
        match capture.next_packet() {
            Ok(Some(packet)) => analysis.handle_packet(&packet),
            Ok(None) => break,
            Err(error) => {
                analysis.handle_error(&error);
                break;
            }
        }
        if analysis.packets.is_multiple_of(4_096) && interrupt.came() {
            break;
        }
    }
    analysis.finish();
    if analysis.packets == 0 {
        let why = analysis.errors.first().map_or("there is no packet in it", |e| &e.message);
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

/// Passphrases and keys of the arguments and of files. Messages do not repeat them.
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

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match path.to_str() {
        Some("-") => Ok(Box::new(io::stdin())),
        _ => Ok(Box::new(File::open(path)?)),
    }
}
