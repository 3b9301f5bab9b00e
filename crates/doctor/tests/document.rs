//! The document of this machine, judged by its schema and by a validator of others.

use lasthop_doctor::{DoctorDocument, gather, schema};

#[test]
fn the_document_is_as_its_schema_says() {
    let document = DoctorDocument::new(gather());
    let json: serde_json::Value = serde_json::from_str(&document.to_json()).unwrap();
    let validator = jsonschema::draft202012::new(&schema()).expect("the schema is one");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(!validator.is_valid(&serde_json::json!({ "version": "1" })), "it refuses something");
    // It is read as it was written.
    assert_eq!(serde_json::from_value::<DoctorDocument>(json).unwrap(), document);
}

/// No key is null: unknown values are absent.
#[test]
fn nothing_is_null() {
    let text = DoctorDocument::new(gather()).to_json();
    assert!(!text.contains("null"), "{text}");
}
