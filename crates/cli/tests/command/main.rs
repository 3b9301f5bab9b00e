//! The command as a person or a script meets it.

mod lasthop;
mod simulate;
