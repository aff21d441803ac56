//! Where settings come from, and which wins (cli specification, section 5).
//!
//! A flag beats the environment, which beats the nearest `.env` (or the file of `--config`), which beats the user's own
//! file, which beats what is built in. A section `[REF]` of a file holds for the agent of that reference alone and
//! beats the rest of the file.

mod document;
mod dotenv;
mod layers;
mod nearest;
mod setting;

pub(crate) use layers::{Layers, Source, is_exposed};
pub(crate) use nearest::nearest;
pub(crate) use setting::{ClientSetting, SETTINGS, variable};
