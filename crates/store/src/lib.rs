//! SQLite behind the engine's store seam
