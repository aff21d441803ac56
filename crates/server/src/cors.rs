//! The origins of pages in browsers that may call the agent: none by default.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, header};
use tower::{Layer, layer::layer_fn};
use tower_http::cors::{AllowOrigin, Cors, CorsLayer};

use crate::head::OLD_EXTENSIONS;

/// Allows these origins to call; `*` is any origin. The server never allows cookies or other credentials that the
/// browser adds by itself. A page with a token sends the token in a header.
pub(crate) fn layer<S>(origins: &[HeaderValue]) -> impl Layer<S, Service = Box<Cors<S>>> + Clone {
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().cloned())
    };
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            header::CONTENT_TYPE,
            header::AUTHORIZATION,
            HeaderName::from_static("x-api-key"),
            HeaderName::from_static("a2a-version"),
            HeaderName::from_static("a2a-extensions"),
            OLD_EXTENSIONS,
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static(nuncio_model::resume::PARAMETER),
        ])
        .expose_headers([
            header::ETAG,
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
            HeaderName::from_static("a2a-extensions"),
            OLD_EXTENSIONS,
        ])
        .max_age(Duration::from_mins(10));
    // Boxed, because the layer is large, seldom used, and part of each connection.
    layer_fn(move |inner| Box::new(cors.layer(inner)))
}
