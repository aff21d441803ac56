//! The layers between the network and the bindings, each with its reason.

mod admit;
mod authenticate;
mod catch_panic;
mod heads;
mod hosts;
mod origins;
mod public;
mod quota;
mod trace;

use std::{convert::Infallible, pin::Pin, sync::Arc};

use admit::{Admit, AdmitLayer};
use authenticate::{Authenticate, AuthenticateLayer};
use catch_panic::{CatchPanic, CatchPanicLayer};
use heads::{Heads, HeadsLayer};
use hosts::{HostCheck, HostCheckLayer};
use http::{HeaderValue, Response};
use nuncio_auth::Authenticator;
use origins::{OriginCheck, OriginCheckLayer};
use public::{Public, PublicLayer};
use quota::{Quota, QuotaLayer};
use tower::{ServiceBuilder, util::Either};
use tower_http::cors::Cors;
use trace::{Trace, TraceLayer};

use crate::{binding::Bindings, body::Body, cors, service::Service};

pub(crate) use authenticate::Peer;

/// The layers around the bindings.
pub(crate) type Stack = CatchPanic<Trace<Heads<Either<Box<Cors<InnerStack>>, InnerStack>>>>;
type InnerStack = HostCheck<Public<Admit<Authenticate<OriginCheck<Quota<Bindings>>>>>>;

/// The result of each layer: a response, also for a refusal.
type LayerResult = Result<Response<Body>, Infallible>;
type BoxedResult = Pin<Box<dyn Future<Output = LayerResult> + Send>>;

/// Builds the stack. A request passes the layers from the top, its response from the bottom.
///
/// A refusal of a layer has the error format of the request's binding. The bindings read the body, with its limits of
/// size and time, because a body of gRPC is not one document. The bindings also determine the version, because a body
/// can declare the version.
pub(crate) fn stack(service: &Arc<Service>, authenticator: Arc<dyn Authenticator>, origins: &[HeaderValue]) -> Stack {
    ServiceBuilder::new()
        // A bug costs the caller one answer, and not the connection with its other requests.
        .layer(CatchPanicLayer(Arc::clone(service)))
        // Outside of all layers that can refuse, so that refusals are traced, too.
        .layer(TraceLayer)
        // The size of a head is limited before any other use of the head. A head without exactly one host might be
        // meant for another server.
        .layer(HeadsLayer(Arc::clone(service)))
        // A browser asks for permission before the call, without credentials.
        .option_layer((!origins.is_empty()).then(|| cors::layer(origins)))
        // A page in a browser can give its own name the address of this machine. The name in the request shows this.
        .layer(HostCheckLayer(Arc::clone(service)))
        // Cards and health are public, and must be available when the limit of requests is reached.
        .layer(PublicLayer(Arc::clone(service)))
        // More requests than this limit would only delay all requests.
        .layer(AdmitLayer(Arc::clone(service)))
        // A caller without valid credentials is refused before the first byte of the body is read.
        .layer(AuthenticateLayer::new(Arc::clone(service), authenticator))
        // A page in a browser can send requests to this machine. A caller without credentials may be such a page.
        .layer(OriginCheckLayer(Arc::clone(service)))
        // A caller over its limit is refused, and the other callers are not affected.
        .layer(QuotaLayer(Arc::clone(service)))
        .service(Bindings(Arc::clone(service)))
}
