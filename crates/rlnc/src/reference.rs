//! The slow decoder against which the others are tested: Gaussian elimination of whole packets, one
//! coefficient at a time, with nothing but [`Field::multiply`]. Coefficients are one byte each, and
//! sizes have no limit.

use crate::field::Field;
use alloc::vec::Vec;

/// A set of linear equations in numbered symbols.
#[derive(Clone, Debug)]
pub struct Reference {
    field: Field,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Reference {
    pub fn new(field: Field) -> Self {
        Self { field, rows: Vec::new() }
    }

    /// Adds an equation. Returns whether it is independent of those before.
    pub fn push(&mut self, mut coefficients: Vec<u8>, mut payload: Vec<u8>) -> bool {
        for (row, of_row) in &self.rows {
            let pivot = row.iter().position(|&c| c != 0).unwrap();
            let factor = coefficients[pivot];
            add(self.field, &mut coefficients, factor, row);
            add_symbols(self.field, &mut payload, factor, of_row);
        }
        let Some(pivot) = coefficients.iter().position(|&c| c != 0) else { return false };
        let inverse = self.field.invert(coefficients[pivot]);
        coefficients = coefficients.iter().map(|&c| self.field.multiply(c, inverse)).collect();
        let mut scaled = alloc::vec![0; payload.len()];
        add_symbols(self.field, &mut scaled, inverse, &payload);
        for (row, of_row) in &mut self.rows {
            let factor = row[pivot];
            add(self.field, row, factor, &coefficients);
            add_symbols(self.field, of_row, factor, &scaled);
        }
        self.rows.push((coefficients, scaled));
        true
    }

    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// The symbol `index`, if the equations determine it.
    pub fn symbol(&self, index: usize) -> Option<&[u8]> {
        let alone = |row: &Vec<u8>| row.iter().enumerate().all(|(i, &c)| (c != 0) == (i == index));
        self.rows.iter().find(|(row, _)| alone(row)).map(|(_, payload)| payload.as_slice())
    }

    /// Eliminates symbol `index`: keeps what the equations say without it.
    pub fn forget(&mut self, index: usize) {
        let field = self.field;
        let Some(at) = self.rows.iter().position(|(row, _)| row[index] != 0) else { return };
        let (spent, of_spent) = self.rows.remove(at);
        let rest = core::mem::take(&mut self.rows);
        for (mut row, mut payload) in rest {
            let factor = field.multiply(row[index], field.invert(spent[index]));
            add(field, &mut row, factor, &spent);
            add_symbols(field, &mut payload, factor, &of_spent);
            assert!(self.push(row, payload), "the rows were independent");
        }
    }
}

fn add(field: Field, y: &mut [u8], factor: u8, x: &[u8]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y ^= field.multiply(x, factor));
}

/// The same for the bytes of symbols, of which a byte has several in a small field.
fn add_symbols(field: Field, y: &mut [u8], factor: u8, x: &[u8]) {
    for (y, &x) in y.iter_mut().zip(x) {
        for at in (0..8).step_by(field.bits()) {
            let element = x >> at & (field.order() - 1) as u8;
            *y ^= field.multiply(element, factor) << at;
        }
    }
}
