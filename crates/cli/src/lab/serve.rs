//! `lasthop serve`: runs in a browser, until a signal. The crate `serve` has the server and its
//! access control.

use crate::args::Serve;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_serve::{Options, Server};
use nix::poll::{PollTimeout, poll};

/// Longest delay in ms for a signal that arrives between two checks. Other signals end the wait.
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
        text += &format!(", {broken} with unreadable files (reasons on the page)");
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
