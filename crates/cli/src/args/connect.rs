//! The agent, its address and the credentials.

use std::time::Duration;

use clap::Args;
use nuncio_client::FileBytes;

use super::values::{duration, file_bytes, key_value, secret};

/// Flags of every command that calls an agent.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agent")]
pub(crate) struct ConnectArgs {
    /// The agent: a host, a URL, the URL of its card, or a file with its card
    #[arg(short = 'a', long, value_name = "REF", conflicts_with = "endpoint")]
    pub(crate) agent_card: Option<String>,
    /// Call this address without a card; needs one --transport
    #[arg(short = 'e', long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// Prefer this transport: jsonrpc, rest or grpc; repeat for more [default: as the card has them]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) transport: Vec<String>,
    /// Speak this version of the protocol and no other, 0.3 for example [default: the newest that both speak]
    #[arg(long, value_name = "VERSION")]
    pub(crate) a2a_version: Option<String>,
    /// How the bytes of files are sent in 0.3 over gRPC and REST: raw, or base64 for agents on the Python SDK [default:
    /// raw]
    #[arg(long, value_name = "FORM", value_parser = file_bytes)]
    pub(crate) file_bytes: Option<FileBytes>,
    /// A bearer token
    #[arg(long, value_name = "TOKEN", value_parser = secret)]
    pub(crate) bearer: Option<String>,
    /// An API key, sent where the card wants it
    #[arg(long, value_name = "KEY", value_parser = secret)]
    pub(crate) api_key: Option<String>,
    /// The whole value of the Authorization header
    #[arg(long, value_name = "VALUE", value_parser = secret, conflicts_with = "bearer")]
    pub(crate) auth: Option<String>,
    /// A service parameter (HTTP header, gRPC metadata) for each call; repeatable
    #[arg(long, value_name = "NAME:VALUE", value_parser = key_value)]
    pub(crate) svc_param: Vec<(String, String)>,
    /// Let an interface at this other origin see the credentials; repeatable
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) trust_origin: Vec<String>,
    /// Show the credentials when the card is fetched, too
    #[arg(long)]
    pub(crate) card_auth: bool,
    /// Declare a protocol extension; repeatable
    #[arg(long = "extension", value_name = "URI", value_delimiter = ',')]
    pub(crate) extension: Vec<String>,
    /// The tenant to name in each request [default: the one in the card]
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Do not verify TLS certificates [default: verify]
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Take a stream up again, or ask for the task, when nothing comes for this long, keep-alives included; 0 is never
    /// [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_negative_numbers = true, help_heading = "Waiting")]
    pub(crate) idle_timeout: Option<Duration>,
}
