//! Makes the limits of the server, the engine and programs from settings. An unset limit keeps its default.

#[cfg(test)]
mod tests;

use std::time::Duration;

use nuncio_adapters::ProgramLimits;
use nuncio_server::Rate;

use super::settings::Settings;
use crate::error::CliError;

/// Sets a field if the setting has a value.
fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

pub(super) fn server(settings: &Settings) -> Result<nuncio_server::Limits, CliError> {
    let mut limits = nuncio_server::Limits::default();
    put(&mut limits.body, settings.size("max-body")?);
    put(&mut limits.body_time, settings.duration("body-timeout")?);
    put(&mut limits.head_time, settings.duration("head-timeout")?);
    put(&mut limits.head, settings.size("max-head")?);
    put(&mut limits.requests, settings.count("max-requests")?);
    put(&mut limits.streams, settings.count("max-streams")?);
    put(&mut limits.body_bytes, settings.size("max-bytes")?);
    put(&mut limits.requests_per_caller, settings.count("caller-requests")?);
    put(&mut limits.body_bytes_per_caller, settings.size("caller-bytes")?);
    put(&mut limits.answer_bytes, settings.size("max-answer-bytes")?);
    put(&mut limits.answer_bytes_per_caller, settings.size("caller-answer-bytes")?);
    put(&mut limits.streams_per_caller, settings.count("caller-streams")?);
    limits.rate = rate(settings)?;
    put(&mut limits.connections, settings.count("max-connections")?);
    put(&mut limits.connections_per_address, settings.count("address-connections")?);
    put(&mut limits.failed_logins, settings.count("failed-logins")?);
    put(&mut limits.keep_alive, settings.duration("keep-alive")?);
    // Less than the ten seconds that supervisors usually give.
    limits.drain = settings.duration("drain")?.unwrap_or(Duration::from_secs(5));
    Ok(limits)
}

fn rate(settings: &Settings) -> Result<Option<Rate>, CliError> {
    let number =
        |name| settings.parsed(name, |text| text.trim().parse().map_err(|_| format!("`{text}` is not 1 or more")));
    match (number("caller-rate")?, number("caller-burst")?) {
        (Some(per_second), burst) => Ok(Some(Rate { per_second, burst: burst.unwrap_or(per_second) })),
        (None, Some(_)) => Err(settings.wrong("caller-burst", "there is no --caller-rate that it could be beyond")),
        (None, None) => Ok(None),
    }
}

pub(super) fn engine(settings: &Settings) -> Result<nuncio_engine::Limits, CliError> {
    let mut limits = nuncio_engine::Limits::default();
    put(&mut limits.cancel_grace, settings.duration("cancel-grace")?);
    limits.stall_timeout = settings.duration("stall-timeout")?;
    put(&mut limits.queued_messages, settings.count("max-queued-messages")?);
    put(&mut limits.push_configs, settings.count("max-webhooks")?);
    put(&mut limits.running_turns, settings.count("max-turns")?);
    put(&mut limits.running_turns_per_caller, settings.count("caller-turns")?);
    put(&mut limits.queued_in_all, settings.count("max-queued")?);
    put(&mut limits.queued_per_caller, settings.count("caller-queued")?);
    put(&mut limits.held_bytes, settings.size("max-held-bytes")?);
    put(&mut limits.held_bytes_per_caller, settings.size("caller-held-bytes")?);
    put(&mut limits.kept_bytes, settings.size("max-kept-bytes")?);
    put(&mut limits.page_bytes, settings.size("max-page-bytes")?);
    put(&mut limits.task_size, settings.size("max-task-size")?.map(|bytes| bytes as u64));
    put(&mut limits.values, settings.count("max-values")?);
    put(&mut limits.task_events, settings.count("max-task-events")?.map(|events| events as u64));
    Ok(limits)
}

pub(super) fn program(settings: &Settings) -> Result<ProgramLimits, CliError> {
    let mut limits = ProgramLimits::default();
    put(&mut limits.piece, settings.size("max-line")?);
    put(&mut limits.output, settings.size("max-output")?.map(|bytes| bytes as u64));
    put(&mut limits.processes, settings.count("max-processes")?);
    limits.grace = grace(settings, limits.grace)?;
    limits.time = settings.duration("turn-timeout")?;
    limits.silence = settings.duration("silence-timeout")?;
    Ok(limits)
}

/// The time of a program to stop. A program of JSON lines has half of this time again after SIGTERM, and the sum must
/// fit into the time of a turn after a cancel.
fn grace(settings: &Settings, default: Duration) -> Result<Duration, CliError> {
    let whole = engine(settings)?.cancel_grace;
    match settings.duration("program-grace")? {
        Some(grace) if grace.saturating_mul(3) >= whole.saturating_mul(2) => Err(settings
            .wrong("program-grace", &format!("{grace:?} is not below two thirds of --cancel-grace, which is {whole:?}"))
            .with_hint("raise --cancel-grace, too: when it ends, the program is killed at once")),
        Some(grace) => Ok(grace),
        None => Ok(default.min(whole / 2)),
    }
}

pub(super) fn retry(settings: &Settings) -> Result<nuncio_push::Retry, CliError> {
    let mut retry = nuncio_push::Retry::default();
    let attempts = settings.count("webhook-attempts")?;
    put(&mut retry.attempts, attempts.map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX)));
    Ok(retry)
}
