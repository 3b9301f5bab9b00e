//! `lasthop serve`: runs in a browser, until a signal. What is served, and to whom, is in the
//! crate `serve`.

use crate::args::Serve;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_serve::{Options, Server};
use nix::poll::{PollTimeout, poll};

/// How long a signal that comes between two looks may be overlooked, in ms. Others end the wait.
const LOOK_MS: u16 = 500;

/// Runs the command until a signal; returns the exit status.
pub fn serve(args: &Serve) -> Result<u8, Failure> {
    let interrupt = Interrupt::catch()?;
    let folder = args.folder.clone();
    let options = Options { port: args.port, folder: Some(folder), live: None };
    let server = Server::start(options).map_err(Failure::message)?;
    let (runs, broken) = server.runs();
    let noun = if runs == 1 { "run" } else { "runs" };
    let mut text = format!("{runs} {noun} in {}", args.folder.display());
    if broken > 0 {
        text += &format!(", {broken} with files that cannot be read (the page says why)");
    }
    text += &format!("\n{}\n", Stream::Output.bold(server.address()));
    text += &Stream::Output.dim("Open the address in a browser of this machine; Ctrl-C ends it.");
    console::print(&format!("{text}\n"))?;
    while !interrupt.came() {
        let _ = poll(&mut [], PollTimeout::from(LOOK_MS));
    }
    drop(server);
    interrupt.check().map(|()| 0)
}
