//! The functions for JavaScript. Texts pass through two buffers in linear memory: JavaScript gets
//! the input buffer from `lasthop_input`, writes a [`Request`](crate::Request) as JSON there, and
//! after a call reads the buffer at `lasthop_output`, which is valid until the next call. There is
//! one job at a time; a new one ends the previous one.
//!
//! A panic is a bug: it writes its message into the output and traps. The module is unusable
//! afterwards, and its user makes a new one.
//!
//! `unsafe` is in the attributes only, which promise that the names of these symbols are unique.
#![expect(unsafe_code, reason = "names that JavaScript calls")]

use crate::job::Job;
use crate::{Request, knobs};
use std::cell::RefCell;
use std::panic;

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    /// Apart, because a panic may hold the rest.
    static OUTPUT: RefCell<Vec<u8>> = RefCell::default();
}

#[derive(Default)]
struct State {
    input: Vec<u8>,
    job: Option<Job>,
}

/// Status of a successful call; of `lasthop_advance`: the run is not over.
const OK: u32 = 0;
/// Status of a failed call; the output is the reason as text.
const WRONG: u32 = 1;
/// The run is over, and the output is its answer.
const DONE: u32 = 2;

fn say(text: String) {
    OUTPUT.with(|output| {
        if let Ok(mut output) = output.try_borrow_mut() {
            *output = text.into_bytes();
        }
    });
}

/// Reads the request that is in the input.
fn request(input: &[u8]) -> Result<Request, String> {
    serde_json::from_slice(input).map_err(|why| format!("the request is not valid: {why}"))
}

fn told(result: Result<u32, String>) -> u32 {
    result.unwrap_or_else(|why| {
        say(why);
        WRONG
    })
}

/// Returns the address of a buffer for an input of `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_input(bytes: usize) -> *mut u8 {
    panic::set_hook(Box::new(|info| say(format!("a bug in lasthop: {info}"))));
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(bytes, 0);
        state.input.as_mut_ptr()
    })
}

/// Begins the run of the request in the input: [`OK`], or [`WRONG`] with the faults.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_start() -> u32 {
    STATE.with_borrow_mut(|state| {
        state.job = None;
        told(request(&state.input).and_then(|request| {
            state.job = Some(Job::new(&request)?);
            Ok(OK)
        }))
    })
}

/// Advances the run by seconds of the scenario's time: [`OK`] if it is not over, [`DONE`] with
/// the answer, or [`WRONG`] if no run has begun.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_advance(seconds: f64) -> u32 {
    STATE.with_borrow_mut(|state| {
        let Some(mut job) = state.job.take() else {
            return told(Err("no run has begun".to_owned()));
        };
        if job.advance(seconds) {
            state.job = Some(job);
            return OK;
        }
        say(job.finish().to_json());
        DONE
    })
}

/// Returns the completed share of the run, 0 to 1; 0 without a run.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_done() -> f64 {
    STATE.with_borrow(|state| state.job.as_ref().map_or(0.0, Job::done))
}

/// Drops the run, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_cancel() {
    STATE.with_borrow_mut(|state| state.job = None);
}

/// The knobs of the scenario in the input: [`OK`] with their JSON, or [`WRONG`].
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_knobs() -> u32 {
    STATE.with_borrow_mut(|state| {
        told(request(&state.input).and_then(|request| {
            say(knobs::for_request(&request)?.to_json());
            Ok(OK)
        }))
    })
}

/// Returns the address of the output.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Returns the length of the output in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_output_bytes() -> usize {
    OUTPUT.with_borrow(|output| output.len())
}
