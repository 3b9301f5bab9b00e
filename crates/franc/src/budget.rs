//! How much source and helper send for a block: PlayNCool's budgets, with the guard that
//! a helper that hears no better than it is heard stays silent.
