//! Finds an agent by its card and calls it over any binding
