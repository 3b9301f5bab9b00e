//! The span of the coding vectors received so far, in reduced form, and for each
//! row the combination of packets that it is: Gauss-Jordan elimination in place.
//!
//! Columns are the symbols of a block. A column is *free*, *given* (its symbol was received
//! uncoded) or a *pivot*. Each pivot has a row. The row holds
//!
//! - in a free column, the coefficient of that unknown symbol;
//! - in a given column, the factor of that known symbol;
//! - in a pivot's column, the factor of the packet that created the pivot.
//!
//! The pivot's symbol is the sum of all three. The coefficient of the pivot itself
//! is one and those of other pivots are zero, so their columns can hold factors
//! instead; this halves the memory and the work. When a row has no coefficient left
//! in a free column, the symbol is known, and its factors, in the order of columns,
//! multiply the symbols and payloads that were received for the columns: one row of
//! a matrix product.

use crate::field::Field;
use crate::kernel::{Kernel, Product};
use crate::symbols::Symbols;
use crate::vector::{Vector, get, mask, row_bytes, set};
use alloc::vec;
use alloc::vec::Vec;

/// The state of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The column has neither a symbol nor a row.
    Free,
    /// The column's symbol was received uncoded.
    Given,
    /// The column has a row.
    Pivot,
}

/// The result of taking a source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The symbol was already known.
    Known,
    /// The column was free.
    Placed,
    /// The column was a pivot: the payload received for it now belongs to this column.
    Moved(usize),
}

/// The coding vectors of one block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Basis {
    field: Field,
    kernel: Kernel,
    columns: usize,
    rows: Symbols,
    states: Vec<Column>,
    /// Masks: all ones in free columns, and in pivots' columns.
    free: Symbols,
    pivots: Symbols,
    /// No column below this one is free.
    first_free: usize,
    rank: usize,
    /// A vector being reduced: its part in pivots' columns, and the remainder.
    picked: Symbols,
    rest: Symbols,
    /// The pivots, in no particular order; and the rows to change, with the factor
    /// by which `rest` is added to each.
    list: Vec<u16>,
    terms: Vec<(u16, u8)>,
}

impl Basis {
    pub fn new(field: Field, kernel: Kernel, columns: usize) -> Self {
        let bytes = row_bytes(field, columns);
        let mut basis = Self {
            field,
            kernel,
            columns,
            rows: Symbols::new(columns, bytes),
            states: vec![Column::Free; columns],
            free: Symbols::new(1, bytes),
            pivots: Symbols::new(1, bytes),
            first_free: 0,
            rank: 0,
            picked: Symbols::new(1, bytes),
            rest: Symbols::new(1, bytes),
            list: Vec::with_capacity(columns),
            terms: Vec::with_capacity(columns),
        };
        basis.clear();
        basis
    }

    /// Forgets all vectors.
    pub fn clear(&mut self) {
        self.rows.all_mut().fill(0);
        self.states.fill(Column::Free);
        self.pivots.all_mut().fill(0);
        for column in 0..self.columns {
            mask(self.field, self.free.padded_mut(0), column, true);
        }
        self.first_free = 0;
        self.rank = 0;
        self.list.clear();
    }

    /// Number of independent vectors received, uncoded symbols included.
    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn state(&self, column: usize) -> Column {
        self.states[column]
    }

    /// The factors of all rows; each row has the index of its pivot.
    pub fn rows(&self) -> &Symbols {
        &self.rows
    }

    /// Adds a vector. Returns the column that becomes a pivot, or `None` if the
    /// vector is redundant.
    pub fn insert(&mut self, vector: Vector<'_>) -> Option<usize> {
        if self.rank == self.columns {
            return None;
        }
        vector.expand(self.field, self.columns, self.rest.padded_mut(0));
        self.reduce();
        let pivot = self.first_free_of(self.rest.padded(0))?;
        let coefficient = get(self.field, self.rest.padded(0), pivot);
        // The factor of the new packet takes the place of the pivot's coefficient.
        set(self.field, self.rest.padded_mut(0), pivot, 1);
        self.divide_rest(coefficient);
        self.find_terms(pivot);
        // The other rows still have a coefficient in this column: adding one more
        // removes it.
        let own = get(self.field, self.rest.padded(0), pivot);
        set(self.field, self.rest.padded_mut(0), pivot, own ^ 1);
        self.add_rest();
        self.become_pivot(pivot, own);
        Some(pivot)
    }

    /// Handles the symbol of `column`, received uncoded.
    pub fn take(&mut self, column: usize) -> Taken {
        match self.states[column] {
            Column::Given => return Taken::Known,
            Column::Free => {
                self.enter(column, Column::Given);
                return Taken::Placed;
            }
            Column::Pivot => {}
        }
        // Its row now says something of the free columns only: one of them becomes the
        // pivot, and the factors of its packet move there.
        let Some(pivot) = self.first_free_of(self.rows.padded(column)) else {
            return Taken::Known;
        };
        self.rest.padded_mut(0).copy_from_slice(self.rows.padded(column));
        self.rows.padded_mut(column).fill(0);
        let coefficient = get(self.field, self.rest.padded(0), pivot);
        let packet = get(self.field, self.rest.padded(0), column);
        set(self.field, self.rest.padded_mut(0), pivot, packet);
        set(self.field, self.rest.padded_mut(0), column, 1);
        self.divide_rest(coefficient);
        self.find_terms(pivot);
        for &row in &self.list {
            let row = self.rows.padded_mut(usize::from(row));
            let packet = get(self.field, row, column);
            set(self.field, row, pivot, packet);
            set(self.field, row, column, 0);
        }
        self.list.retain(|&pivot| usize::from(pivot) != column);
        self.states[column] = Column::Given;
        mask(self.field, self.pivots.padded_mut(0), column, false);
        self.add_rest();
        let own = get(self.field, self.rest.padded(0), pivot);
        self.become_pivot(pivot, own);
        Taken::Moved(pivot)
    }

    /// Appends to `resolved` the pivots whose rows determine their symbols, except
    /// those for which `is_known` returns true.
    pub fn resolved(&self, is_known: impl Fn(usize) -> bool, resolved: &mut Vec<(u16, u16)>) {
        // Most rows that still have an unknown symbol have one in this column.
        let first = self.first_free;
        for &column in &self.list {
            let row = self.rows.padded(usize::from(column));
            if (first == self.columns || get(self.field, row, first) == 0)
                && !is_known(usize::from(column))
                && self.first_free_of(row).is_none()
            {
                resolved.push((column, column));
            }
        }
    }

    /// Splits `rest` into the part in pivots' columns, which it replaces by their
    /// rows, and the remainder.
    fn reduce(&mut self) {
        let (picked, rest) = (self.picked.padded_mut(0), self.rest.padded_mut(0));
        for ((picked, rest), pivot) in picked.iter_mut().zip(rest).zip(self.pivots.padded(0)) {
            *picked = *rest & pivot;
            *rest &= !pivot;
        }
        let mut job = Product {
            out_stride: self.rest.stride(),
            out: self.rest.all_mut(),
            rows: &[(0, 0)],
            coefficients: self.picked.all(),
            coefficients_stride: self.picked.stride(),
            inputs: self.rows.all(),
            inputs_stride: self.rows.stride(),
            count: self.columns,
            row_bytes: self.rows.row_bytes(),
            add: true,
        };
        self.kernel.multiply(self.field, &mut job);
    }

    /// The first free column in which `row` is not zero.
    fn first_free_of(&self, row: &[u8]) -> Option<usize> {
        let bits = if self.field == Field::Gf2 { 1 } else { 8 };
        let skip = self.first_free * bits / 64;
        let words = row.as_chunks().0.iter().zip(self.free.padded(0).as_chunks().0).skip(skip);
        let words = words.map(|(&row, &free)| u64::from_le_bytes(row) & u64::from_le_bytes(free));
        let (at, word) = words.enumerate().find(|&(_, word)| word != 0)?;
        Some(((skip + at) * 64 + word.trailing_zeros() as usize) / bits)
    }

    /// Divides `rest` by `element`, which is not zero.
    fn divide_rest(&mut self, element: u8) {
        if element != 1 {
            let inverse = self.field.invert(element);
            self.kernel.scale(self.field, self.rest.padded_mut(0), inverse);
        }
    }

    /// Finds the rows whose coefficient in `column` is not zero.
    fn find_terms(&mut self, column: usize) {
        self.terms.resize(self.list.len(), (0, 0));
        let mut found = 0;
        for &row in &self.list {
            let coefficient = get(self.field, self.rows.padded(usize::from(row)), column);
            self.terms[found] = (row, coefficient);
            // Without a branch: over GF(2) it would be unpredictable.
            found += usize::from(coefficient != 0);
        }
        self.terms.truncate(found);
    }

    /// Adds `rest` to the rows found by `find_terms`.
    fn add_rest(&mut self) {
        let stride = self.rows.stride();
        let rest = &self.rest.padded(0)[..self.rows.row_bytes()];
        self.kernel.scatter(self.field, self.rows.all_mut(), stride, &self.terms, rest);
    }

    /// Makes `rest` the row of `pivot`, with `own` as the factor of its packet.
    fn become_pivot(&mut self, pivot: usize, own: u8) {
        self.rows.padded_mut(pivot).copy_from_slice(self.rest.padded(0));
        set(self.field, self.rows.padded_mut(pivot), pivot, own);
        mask(self.field, self.pivots.padded_mut(0), pivot, true);
        self.list.push(pivot as u16);
        self.enter(pivot, Column::Pivot);
    }

    /// Records that `column` is no longer free.
    fn enter(&mut self, column: usize, state: Column) {
        self.states[column] = state;
        mask(self.field, self.free.padded_mut(0), column, false);
        let taken = self.states[self.first_free..].iter().take_while(|&&s| s != Column::Free);
        self.first_free += taken.count();
        self.rank += 1;
    }
}
