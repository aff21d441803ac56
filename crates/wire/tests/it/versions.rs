//! Which version a request speaks.

use http::Method as Verb;
use nuncio_model::{ErrorKind, Method};
use nuncio_wire::{
    Version, Versions, dialect,
    negotiate::declared,
    rest::{self, RouteError},
};

#[test]
fn the_patch_does_not_count() {
    for text in ["1.0", "1.0.0", "1.0.1", " 1.0 ", "1.0.99"] {
        assert_eq!(text.parse(), Ok(Version::V1_0), "{text}");
    }
    for text in ["", "1", "1.", "1.1", "0.3", "2.0", "99.0", "v1.0", "1.0.x", "1.0.0.0", "1.0-rc", "+1.0", "1.0, 0.3"] {
        assert!(text.parse::<Version>().is_err(), "{text}");
    }
    assert_eq!(Version::LATEST.to_string(), "1.0");
}

#[test]
fn every_version_has_its_dialect() {
    for version in Version::ALL {
        assert_eq!(dialect(*version).version(), *version);
        assert!(rest_dialect(*version).is_none_or(|dialect| dialect.version() == *version));
        assert_eq!(version.as_str().parse(), Ok(*version));
        for method in Method::ALL {
            let dialect = dialect(*version);
            assert_eq!(dialect.method(dialect.method_name(method)), Some(method));
        }
    }
}

#[test]
fn the_header_wins_over_the_query() {
    assert_eq!(declared(Some("1.0"), Some("A2A-Version=0.3")).as_deref(), Some("1.0"));
    assert_eq!(declared(None, Some("x=1&A2A-Version=1%2E0")).as_deref(), Some("1.0"));
    assert_eq!(declared(Some(" "), Some("a2a-version=1.0")).as_deref(), Some("1.0"));
    assert_eq!(declared(None, Some("A2A-Version=")), None);
    assert_eq!(declared(Some(""), None), None);
}

#[test]
fn a_version_that_is_not_spoken_is_refused_on_every_operation_and_binding() {
    let versions = Versions::default();
    let lenient = Versions::default().with_lenient(true);
    for wrong in ["99.0", "0.3", "nonsense"] {
        for versions in [&versions, &lenient] {
            for method in Method::ALL {
                let error = versions.for_method(Some(wrong), method.name()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
                assert_eq!(error.metadata()["supportedVersions"], "1.0");
            }
            let error = versions.for_path(Some(wrong), &Verb::GET, "/tasks").unwrap_err();
            assert!(matches!(&error, RouteError::Version(it) if it.kind() == ErrorKind::VersionNotSupported));
            assert_eq!(error.status(), 400);
            assert!(versions.expect(Some(wrong), Version::V1_0).is_err());
        }
    }
}

#[test]
fn no_version_means_0_3_unless_one_is_lenient() {
    let strict = Versions::default();
    for method in ["SendMessage", "message/send", "tasks/nonsense"] {
        assert_eq!(strict.for_method(None, method).unwrap_err().kind(), ErrorKind::VersionNotSupported, "{method}");
    }
    assert_eq!(strict.for_method(None, "Nonsense").unwrap_err().kind(), ErrorKind::MethodNotFound);
    assert!(matches!(strict.for_path(None, &Verb::GET, "/tasks"), Err(RouteError::Version(_))));
    assert!(strict.expect(None, Version::V1_0).is_err());

    let lenient = Versions::default().with_lenient(true);
    assert_eq!(lenient.for_method(None, "SendMessage").unwrap().version(), Version::V1_0);
    assert_eq!(lenient.for_method(None, "message/send").unwrap_err().kind(), ErrorKind::VersionNotSupported);
    let (dialect, routed) = lenient.for_path(None, &Verb::GET, "/tasks").unwrap();
    assert_eq!((dialect.version(), routed.method), (Version::V1_0, Method::ListTasks));
    assert!(lenient.expect(None, Version::V1_0).is_ok());
}

#[test]
fn an_unknown_path_is_found_before_a_wrong_version() {
    let versions = Versions::default();
    assert!(matches!(versions.for_path(Some("99.0"), &Verb::GET, "/nowhere"), Err(RouteError::NotFound)));
    assert!(matches!(versions.for_path(None, &Verb::PUT, "/tasks"), Err(RouteError::MethodNotAllowed { .. })));
    // A method that no version has is for the caller to find, once the version is known.
    assert!(versions.for_method(Some("1.0"), "Nonsense").unwrap().method("Nonsense").is_none());
}

#[test]
fn nothing_is_spoken_where_nothing_is_wanted() {
    let versions = Versions::only([]);
    assert!(versions.for_method(Some("1.0"), "SendMessage").is_err());
    assert!(matches!(versions.for_path(Some("1.0"), &Verb::GET, "/tasks"), Err(RouteError::NotFound)));
    assert_eq!(Versions::only([Version::V1_0, Version::V1_0]).spoken(), [Version::V1_0]);
    assert!(rest::is_json("application/json"));
}
