//! Feeds any bytes to the readers of lasthop's JSON documents: a run, several runs, a comparison, a
//! measured queue, a node of a coded link, a medium, a sweep, and the messages of a sweep to other
//! machines. An accepted document is the same after writing and reading, and pages can be made of
//! it. The list of a folder's files removes nothing outside the folder.
#![no_main]

use lasthop_franc_node::document::FrancDocument;
use lasthop_fuzz::Folder;
use lasthop_report::page::{self, measured, set, variants};
use lasthop_report::trial::Trials;
use lasthop_sweep::{Asked, Blueprint};
use lasthop_trace::{
    ApqDocument, Comparison, MediumDocument, RunDocument, RunSet, replace_earlier,
};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;

fuzz_target!(|bytes: &[u8]| {
    if let Some(run) = again::<RunDocument>(bytes) {
        page::html(&page::Content {
            run: &run,
            series: None,
            delays: None,
            scenario: None,
            trials: &Trials::default(),
        });
        let set = RunSet::new(vec![run.clone(), run]);
        pages(set);
    }
    if let Some(set) = again::<RunSet>(bytes) {
        pages(set);
    }
    if let Some(document) = again::<ApqDocument>(bytes) {
        measured::html(&measured::MeasuredContent { document: &document, samples: None });
    }
    if let Some(document) = again::<FrancDocument>(bytes) {
        document.to_prometheus();
    }
    again::<Comparison>(bytes);
    again::<MediumDocument>(bytes);
    again::<Asked>(bytes);
    if let Ok(blueprint) = Blueprint::from_json(bytes) {
        let read = Blueprint::from_json(blueprint.to_json().as_bytes());
        assert_eq!(read.expect("it was written"), blueprint);
    }
    if serde_json::from_slice::<Value>(bytes).is_ok_and(|it| it["files"].is_array()) {
        list(bytes);
    }
});

/// The document, if it is one.
fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let document: T = serde_json::from_slice(bytes).ok()?;
    let json = serde_json::to_value(&document).expect("it is JSON");
    let read: T = serde_json::from_str(&json.to_string()).expect("it was written");
    let written = serde_json::to_value(&read).expect("it is JSON");
    assert!(is_same(&written, &json), "{json} became {written}");
    Some(document)
}

/// Whether two values are the same, numbers but for the last digits that a reader may lose.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let [a, b] = [a, b].map(|it| it.as_f64().expect("it is one"));
            (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

fn pages(set: RunSet) {
    set::html(&set::SetContent { set: &set, series: &[], scenario: None });
    let variant = |name: &str| variants::Variant {
        name: name.into(),
        set: set.clone(),
        series: Vec::new(),
        scenario: None,
    };
    variants::html("two", &[variant("one"), variant("other")], None);
}

/// Makes a folder with the given `files.json`, beside a foreign file.
fn list(bytes: &[u8]) {
    let folder = Folder::new();
    let (top, victim) = (folder.path().join("top"), folder.path().join("victim"));
    fs::create_dir(&top).expect("there is room");
    fs::write(&victim, "").expect("there is room");
    fs::write(top.join("files.json"), bytes).expect("there is room");
    fs::write(top.join("run.json"), "{}").expect("there is room");
    replace_earlier(&top, &[top.join("run.json")]).expect("there is room");
    assert!(victim.exists() && top.join("run.json").exists() && top.join("files.json").exists());
}
