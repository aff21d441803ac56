//! The version of a request: a header, a query, a method and the path of a service, one per line.

use nuncio_model::ErrorKind;
use nuncio_wire::{Version, Versions, negotiate};

/// Negotiates the version, for servers with different sets of versions.
pub(crate) fn negotiation(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.split('\n');
    let (header, query) = (lines.next(), lines.next());
    let (method, service) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let declared = negotiate::declared(header, query);
    let declared = declared.as_deref();
    assert_ne!(declared, Some(""));
    let only = Version::ALL.iter().map(|version| Versions::only([*version]));
    for versions in only.chain([Versions::default(), Versions::only([])]) {
        for versions in [versions.clone(), versions.with_lenient(true)] {
            meant(&versions, declared, method, service);
        }
    }
}

fn meant(versions: &Versions, declared: Option<&str>, method: &str, service: &str) {
    let agrees = |version: Version| {
        assert!(versions.spoken().contains(&version));
        assert!(declared.is_none_or(|declared| declared.parse() == Ok(version)));
    };
    let refused = |error: &nuncio_model::Error| {
        assert!(matches!(error.kind(), ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound), "{error:?}");
    };
    match versions.for_method(declared, method) {
        Ok(meant) => {
            agrees(meant.dialect.dialect().version());
            assert!(meant.dialect.method(method).is_some());
            if let Some(older) = meant.older {
                assert!(older.dialect().version() < meant.dialect.dialect().version());
                assert!(older.method(method).is_some());
            }
        }
        Err(error) => refused(&error),
    }
    match versions.for_service(declared, service) {
        Ok((dialect, method)) => {
            agrees(dialect.dialect().version());
            assert!(dialect.path(method).is_some());
        }
        Err(error) => refused(&error),
    }
}
