//! Frames and radiotap headers as bytes.
