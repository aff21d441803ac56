//! Bytes to model and back, for every version and binding, without I/O
