//! Version 0.1.
