//! Versions 0.2 and 0.3, which are one family: what 0.2 lacks it ignores.
