//! The order of names with numbers.

/// Returns a name's sort key, which places `run-10` after `run-9`.
pub(crate) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    for character in name.chars() {
        let last = parts.len() - 1;
        match character.to_digit(10) {
            Some(digit) => {
                parts[last].1 = parts[last].1.saturating_mul(10).saturating_add(digit.into());
            }
            None if parts[last].1 > 0 => parts.push((character.to_string(), 0)),
            None => parts[last].0.push(character),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["run-10", "run-9", "a", "run-9/x", "run-1"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a", "run-1", "run-9", "run-9/x", "run-10"]);
    }
}
