//! Which request gets what. Paths are words that are compared, never paths of files.

use crate::http::{Method, NOT_FOUND, Request, Response};
use crate::live::Live;
use crate::server::ServeError;
use std::path::PathBuf;

/// What there is to serve.
pub(crate) struct Site {
    pub live: Option<Live>,
}

/// What a request gets.
pub(crate) enum Answer {
    Whole(Response),
    /// A stream of events.
    Live(Live),
}

impl Site {
    pub(crate) fn new(_folder: Option<PathBuf>, live: Option<Live>) -> Result<Self, ServeError> {
        Ok(Self { live })
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (0, 0)
    }
}

/// Answers a request.
pub(crate) fn answer(site: &Site, request: &Request) -> Answer {
    let missing = || Response::error(404, NOT_FOUND);
    match (request.path.as_str(), &site.live) {
        ("live", Some(live)) if request.method == Method::Get => Answer::Live(live.clone()),
        ("set", Some(live)) if request.method == Method::Post => Answer::Whole(set(live, request)),
        ("live" | "set", Some(_)) => {
            Answer::Whole(Response::error(405, "expected GET live or POST set"))
        }
        ("live" | "set", None) => Answer::Whole(Response::error(404, "nothing runs here")),
        _ => Answer::Whole(missing()),
    }
}

/// Changes what runs.
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
