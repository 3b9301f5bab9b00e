//! Encoder and helper as in the paper (sections II.C and II.D, figures 4 and 5).
