//! What a user should know before anything is sent.

use nuncio_client::{AgentRef, Binding, Client, Resolved, Version, is_loopback};
use nuncio_model::card::AgentInterface;
use url::Url;

use super::{Connection, bindings, quoted};
use crate::{
    args::ConnectArgs,
    context::Context,
    diag,
    error::{CliError, Code},
};

/// Names the interface in use.
pub(super) fn of_interface(interface: &AgentInterface, version: Version) {
    diag::line(&format!("interface: {}, {} {version}", interface.url, interface.protocol_binding));
}

/// Names the version in use if it is older than the newest and was not requested.
pub(super) fn of_version(version: Version) {
    if version != Version::LATEST {
        diag::line_once(&format!("the agent speaks version {version} of the protocol, which is used"));
    }
}

/// Warns of connections whose other end is not verified.
pub(super) fn of_insecure(has_credentials: bool) {
    diag::warn_once(if has_credentials {
        "certificates are not verified (--insecure): the credentials may go to anybody who answers in the agent's place"
    } else {
        "certificates are not verified (--insecure)"
    });
}

/// Warns of credentials over a connection without TLS.
pub(super) fn of_plain_text(url: &Url) {
    if url.scheme() == "http" && !url.host_str().is_some_and(is_loopback) {
        diag::warn_once("credentials go over a connection without TLS");
    }
}

/// The meaning of a path without a card of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// The agent of the card: there is no path, or the card has an address with this path.
    Agent,
    /// To a tenant that the card names.
    Tenant(String),
}

/// Tells what the path of a reference means if the card was found somewhere else.
///
/// # Errors
///
/// If the card does not know the path: the user named another agent, or a tenant that is not in the card.
pub(super) fn of_other_place(reference: &AgentRef, resolved: &Resolved) -> Result<Path, CliError> {
    let (Some(wanted), Some(found)) = (reference.as_url(), &resolved.url) else { return Ok(Path::Agent) };
    let path = wanted.path().trim_end_matches('/');
    let interfaces = &resolved.card.supported_interfaces;
    // A card may name another host than the user, such as that of a proxy.
    let is_at_path =
        |place: &str| place.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let has_interface = || {
        interfaces.iter().any(|it| Url::parse(&it.url).is_ok_and(|url| is_at_path(url.path().trim_end_matches('/'))))
    };
    if path.is_empty() || is_at_path(found.path()) || has_interface() {
        return Ok(Path::Agent);
    }
    let name = path.trim_start_matches('/');
    let named = interfaces.iter().filter_map(|it| it.tenant.as_ref()).find(|tenant| segment(tenant.as_str()) == name);
    if let Some(tenant) = named {
        return Ok(Path::Tenant(tenant.to_string()));
    }
    let origin = found.origin().ascii_serialization();
    let tenant = if name.contains('/') {
        String::new()
    } else {
        format!("; for the tenant `{name}` of this agent say -a {origin} --tenant {}", quoted(name))
    };
    let message = format!(
        "no card at {}{path}: the card at {origin} names no address and no tenant of this path",
        wanted.origin().ascii_serialization()
    );
    Err(CliError::new(Code::CardNotFound, message).with_hint(format!("the agent at the root is -a {origin}{tenant}")))
}

/// A text as a segment of a path.
fn segment(text: &str) -> String {
    let mut url = Url::parse("http://x").ok();
    if let Some(Ok(mut segments)) = url.as_mut().map(Url::path_segments_mut) {
        segments.push(text);
    }
    url.map(|url| url.path().trim_start_matches('/').to_owned()).unwrap_or_default()
}

impl Connection {
    /// Reports properties of the call that the user may not expect.
    pub(super) fn look_around(&self, context: &Context, args: &ConnectArgs) {
        let Some(interface) = self.client.interface() else { return };
        let version = self.client.version().map(Version::as_str).unwrap_or_default();
        tracing::debug!(url = interface.url, binding = interface.protocol_binding, version, "interface");
        let pin = context.text(args.a2a_version.as_ref(), "a2a-version");
        match &pin {
            Some(pin) if pin.parse::<Version>().is_err() => diag::warn(&format!(
                "version {pin} is not known here; calls have the form of version {version}, and say that they are of {pin}"
            )),
            None => self.client.version().into_iter().for_each(of_version),
            Some(_) => {}
        }
        if version != Version::LATEST.as_str() && context.text(args.tenant.as_ref(), "tenant").is_some() {
            diag::warn_once(&format!("version {version} of the protocol has no tenants; --tenant is left out"));
        }
        let wanted = bindings(context, args).unwrap_or_default();
        if Binding::from_name(&interface.protocol_binding).is_some_and(|it| !wanted.is_empty() && !wanted.contains(&it))
        {
            let names = wanted.iter().map(|it| it.name()).collect::<Vec<_>>().join(" or ");
            let pin = pin.map(|pin| format!(" in version {pin}")).unwrap_or_default();
            diag::warn(&format!(
                "the card does not list {names}{pin}; the agent is called by {}",
                interface.protocol_binding
            ));
        }
        if let Some(flag) = trust_flag(&self.client) {
            diag::warn(&format!(
                "the card points to another origin, {}, which does not get the credentials; {flag} sends them there",
                interface.url
            ));
            return;
        }
        let Some(url) = self.client.url() else { return };
        if self.client.card_url().is_some_and(|card| card.origin() != url.origin()) {
            diag::warn(&format!("the card points to another origin, {}", interface.url));
        }
        if self.has_credentials {
            of_plain_text(url);
        }
    }
}

/// The flag that sends the credentials to the interface.
pub(super) fn trust_flag(client: &Client) -> Option<String> {
    let url = client.url().filter(|_| client.withholds_credentials())?;
    Some(format!("--trust-origin {}", url.origin().ascii_serialization()))
}
