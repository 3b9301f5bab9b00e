//! `lasthop set`: changes a running emulation, or lists its keys. Sends the request to the
//! emulation's control ([`lasthop_emulate::control`]), which carries it out.

use crate::args::Set;
use crate::console;
use crate::failure::Failure;
use lasthop_linux::door;
use nix::unistd::Pid;
use std::slice;

/// Request for the keys of all nodes.
const ALL: &str = lasthop_emulate::control::ALL;

/// Runs the command.
pub fn set(args: &Set) -> Result<(), Failure> {
    let pid = match args.pid {
        Some(pid) => Pid::from_raw(pid),
        None => only()?,
    };
    let all = ALL.to_owned();
    let question = if args.all { slice::from_ref(&all) } else { &args.sets[..] };
    match door::ask(pid, question) {
        Ok(Ok(answer)) => console::print(&console::printable(&answer)),
        Ok(Err(why)) => Err(Failure::Message(console::printable(&why))),
        Err(why) => Err(Failure::message(why)),
    }
}

/// Returns the only running emulation of this user.
fn only() -> Result<Pid, Failure> {
    match &door::known()[..] {
        [pid] => Ok(*pid),
        [] => Err(Failure::Message(
            "no emulation runs here: start one in another terminal, such as `lasthop emulate hello`"
                .into(),
        )),
        several => {
            let pids: Vec<String> = several.iter().map(ToString::to_string).collect();
            let pids = pids.join(", ");
            Err(Failure::Message(format!("several emulations run: choose one by --pid, of {pids}")))
        }
    }
}
