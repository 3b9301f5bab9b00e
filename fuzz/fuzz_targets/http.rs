//! Requests of anybody to the server of runs: one that may be answered names the secret and the
//! server itself, has no more than was allowed, and is whole.
#![no_main]

use lasthop_serve::http::Place;
use libfuzzer_sys::fuzz_target;

const SECRET: &str = "5d41402abc4b2a76";

fuzz_target!(|bytes: &[u8]| {
    let place = Place { port: 8080, secret: SECRET.into() };
    let Ok(request) = place.read(&mut &*bytes) else { return };
    let has =
        |word: &str| bytes.windows(word.len()).any(|it| it.eq_ignore_ascii_case(word.as_bytes()));
    assert!(has(&format!("/{SECRET}")), "{request:?}");
    assert!(has("127.0.0.1:8080") || has("localhost:8080"), "{request:?}");
    assert!(!request.path.contains(['?', ' ', '\r', '\n']), "{request:?}");
    assert!(request.body.len() <= 64 * 1024, "{} bytes", request.body.len());
});
