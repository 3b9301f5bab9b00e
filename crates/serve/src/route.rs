//! Routes requests to answers. Paths are words and numbers that are compared, never paths of files.
//! `docs/serve.md` describes them.

use crate::air::{WIDTH_MAX, Window};
use crate::error::ServeError;
use crate::http::{Method, NOT_FOUND, Request, Response};
use crate::live::Live;
use crate::packet;
use crate::runs::{Failure, Runs};
use crate::series::Series;
use serde_json::json;
use std::path::PathBuf;

/// The page, built from `web/src/viewer`.
const PAGE: &[u8] = include_bytes!("../assets/viewer.html");
const SCRIPT: &[u8] = include_bytes!("../assets/viewer.js");
const STYLE: &[u8] = include_bytes!("../assets/viewer.css");

/// Content of the server.
pub struct Site {
    pub(crate) live: Option<Live>,
    runs: Option<Runs>,
}

/// Answer to a request.
pub enum Answer {
    /// A complete response.
    Whole(Response),
    /// A stream of events.
    Live(Live),
}

impl Site {
    /// Makes a site of the runs in `folder`, and an emulation.
    ///
    /// # Errors
    /// An error if the folder cannot be read or has no run.
    pub fn new(folder: Option<PathBuf>, live: Option<Live>) -> Result<Self, ServeError> {
        let runs = folder.as_deref().map(Runs::find).transpose()?;
        Ok(Self { live, runs })
    }

    /// Number of runs, and number of those with errors.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.runs.as_ref().map_or((0, 0), Runs::counts)
    }
}

/// Returns the answer to a request.
pub fn answer(site: &Site, request: &Request) -> Answer {
    let path: Vec<&str> = request.path.split('/').collect();
    let is_get = request.method == Method::Get;
    let live = site.live.as_ref().ok_or_else(|| (404, "no emulation is running here".to_owned()));
    Answer::Whole(match (&path[..], live) {
        (["live"], Ok(live)) if is_get => return Answer::Live(live.clone()),
        (["set"], Ok(live)) if !is_get => set(live, request),
        (["live" | "set"], Err((status, why))) => Response::error(status, &why),
        _ if !is_get => Response::error(405, "expected GET, or POST of set"),
        (["set"], Ok(_)) => Response::error(405, "expected POST"),
        ([""], _) => Response::with_body("text/html; charset=utf-8", PAGE),
        (["viewer.js"], _) => Response::with_body("text/javascript; charset=utf-8", SCRIPT),
        (["viewer.css"], _) => Response::with_body("text/css; charset=utf-8", STYLE),
        (["runs"], _) => runs(site),
        (["run", id, rest @ ..], _) => of_run(site, id, rest, &request.query)
            .unwrap_or_else(|(status, why)| Response::error(status, &why)),
        _ => missing(),
    })
}

fn missing() -> Response {
    Response::error(404, NOT_FOUND)
}

/// Returns the list of runs, empty if only an emulation is shown.
fn runs(site: &Site) -> Response {
    let mut list = site.runs.as_ref().map_or_else(|| json!({ "runs": [] }), Runs::list);
    list["is_live"] = site.live.is_some().into();
    list["version"] = env!("CARGO_PKG_VERSION").into();
    Response::json(list.to_string())
}

fn of_run(site: &Site, id: &str, rest: &[&str], query: &str) -> Result<Response, Failure> {
    let runs = site.runs.as_ref().ok_or_else(|| (404, "no folder is shown here".to_owned()))?;
    let id = number(id).and_then(|id| usize::try_from(id).ok());
    let id = id.ok_or_else(|| (404, "expected the number of a run".to_owned()))?;
    match rest {
        [] => Ok(Response::json(runs.document(id)?.to_string())),
        ["series"] => Ok(json_of(&Series::new(&runs.series(id)?))),
        ["report.html"] => Ok(Response::report(runs.report(id)?)),
        ["air"] => {
            let [from_ns, to_ns, width] = numbers(query, ["from_ns", "to_ns", "width"])?;
            if from_ns >= to_ns {
                return Err((400, "expected from_ns below to_ns".to_owned()));
            }
            let width = u32::try_from(width).ok().filter(|it| (1..=WIDTH_MAX).contains(it));
            let width = width
                .ok_or_else(|| (400, format!("width: expected columns, from 1 to {WIDTH_MAX}")))?;
            let timeline = runs.timeline(id)?;
            Ok(json_of(&timeline.view(Window::new(from_ns, to_ns, width))))
        }
        ["packet"] => {
            let [number] = numbers(query, ["number"])?;
            let timeline = runs.timeline(id)?;
            let way = u32::try_from(number).ok().and_then(|it| packet::way(&timeline, it));
            let missing = || (404, format!("this run has no packet {number}"));
            Ok(Response::json(way.ok_or_else(missing)?.to_string()))
        }
        _ => Ok(missing()),
    }
}

fn json_of(value: &impl serde::Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => Response::json(bytes),
        // Maps have texts as keys and numbers are finite.
        Err(why) => Response::error(500, &format!("cannot write JSON: {why}")),
    }
}

/// Parses an integer in decimal digits.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Parses a query that must have exactly these parameters.
fn numbers<const N: usize>(query: &str, names: [&str; N]) -> Result<[i64; N], Failure> {
    let expected = || {
        let each: Vec<String> = names.iter().map(|name| format!("{name}=NUMBER")).collect();
        (400, format!("expected ?{}", each.join("&")))
    };
    let mut values = [None; N];
    for part in query.split('&') {
        let (name, value) = part.split_once('=').ok_or_else(expected)?;
        let at = names.iter().position(|known| *known == name).ok_or_else(expected)?;
        let value = number(value).ok_or_else(expected)?;
        if values[at].replace(value).is_some() {
            return Err(expected());
        }
    }
    let mut whole = [0; N];
    for (value, slot) in values.into_iter().zip(&mut whole) {
        *slot = value.ok_or_else(expected)?;
    }
    Ok(whole)
}

/// Applies changes to the running emulation.
fn set(live: &Live, request: &Request) -> Response {
    const EXPECTED: &str = "expected {\"set\": [\"PATH=VALUE\", ..]}";
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        set: Vec<String>,
    }
    match serde_json::from_slice::<Body>(&request.body) {
        Err(why) => Response::error(400, &format!("{EXPECTED}: {why}")),
        Ok(body) if body.set.is_empty() => Response::error(400, EXPECTED),
        Ok(body) => match live.set(&body.set) {
            Ok(json) => Response::json(json),
            Err(why) => Response::error(422, &why),
        },
    }
}
