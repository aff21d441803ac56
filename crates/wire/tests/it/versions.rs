//! The version of a request.

use std::sync::Arc;

use http::Method as Verb;
use nuncio_model::{Error, ErrorKind, Method, Reply, Task, TaskState, TaskStatus, Timestamp};
use nuncio_wire::{Version, Versions, dialect, negotiate::declared, rest::RouteError};

#[test]
fn the_patch_number_is_ignored() {
    for text in ["1.0", "1.0.0", "1.0.1", " 1.0 ", "1.0.99"] {
        assert_eq!(text.parse(), Ok(Version::V1_0), "{text}");
    }
    for text in [
        "", "1", "1.", "1.1", "0.0", "0.4", "2.0", "99.0", "v1.0", "1.0.x", "1.0.0.0", "1.0-rc", "+1.0", "01.0",
        "1.00", "00.3", "1.0.01", "1.0, 0.3",
    ] {
        assert!(text.parse::<Version>().is_err(), "{text}");
    }
    for (text, is_built_in) in
        [("0.1.0", cfg!(feature = "v0-1")), ("0.2.6", cfg!(feature = "v0-2")), ("0.3", cfg!(feature = "v0-3"))]
    {
        assert_eq!(text.parse::<Version>().is_ok(), is_built_in, "{text}");
    }
    assert_eq!(Version::LATEST.to_string(), "1.0");
}

#[test]
fn each_version_has_a_dialect() {
    for version in Version::ALL {
        let dialect = dialect(*version);
        assert_eq!(dialect.version(), *version);
        assert_eq!(version.as_str().parse(), Ok(*version));
        let rpc = dialect.jsonrpc();
        assert_eq!(rpc.dialect().version(), *version);
        assert!(dialect.rest().is_none_or(|web| web.dialect().version() == *version));
        assert!(dialect.grpc().is_none_or(|grpc| grpc.dialect().version() == *version));
        for method in Method::ALL {
            assert!(rpc.method_name(method).is_none_or(|name| rpc.method(name) == Some(method)), "{method:?}");
            let grpc = dialect.grpc();
            let path = grpc.and_then(|grpc| grpc.path(method));
            assert!(path.is_none_or(|path| grpc.unwrap().method(path) == Some(method)), "{method:?}");
        }
    }
}

#[test]
fn the_first_and_last_time_survive_every_version_and_binding() {
    for time in ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"] {
        let at: Timestamp = time.parse().unwrap();
        let mut task = Task::new("t".into(), "c".into());
        task.status = TaskStatus { timestamp: Some(at), ..TaskStatus::new(TaskState::Working) };
        let reply = Reply::Task(Arc::new(task));
        let told = |read: Reply| match read {
            Reply::Task(task) => task.status.timestamp,
            other => panic!("{other:?}"),
        };
        for version in Version::ALL {
            let dialect = dialect(*version);
            let mut bytes = Vec::new();
            dialect.jsonrpc().encode_reply(Method::GetTask, &reply, &mut bytes).unwrap();
            assert!(String::from_utf8_lossy(&bytes).contains(time), "{version}");
            assert_eq!(told(dialect.jsonrpc().decode_reply(Method::GetTask, &bytes).unwrap()), Some(at), "{version}");
            if let Some(web) = dialect.rest() {
                let mut bytes = Vec::new();
                web.encode_reply(Method::GetTask, &reply, &mut bytes).unwrap();
                assert_eq!(told(web.decode_reply(Method::GetTask, &bytes).unwrap()), Some(at), "{version}");
            }
            if let Some(grpc) = dialect.grpc() {
                let mut bytes = Vec::new();
                grpc.encode_reply(Method::GetTask, &reply, &mut bytes).unwrap();
                assert_eq!(told(grpc.decode_reply(Method::GetTask, &bytes).unwrap()), Some(at), "{version}");
            }
        }
    }
}

#[test]
fn the_newest_has_every_operation_on_every_binding() {
    let dialect = dialect(Version::LATEST);
    assert!(dialect.rest().is_some());
    for method in Method::ALL {
        assert!(dialect.jsonrpc().method_name(method).is_some());
        assert!(dialect.grpc().unwrap().path(method).is_some());
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

/// A server that speaks only 1.0, even if the build has other versions.
fn only_1_0() -> Versions {
    Versions::only([Version::V1_0])
}

const GET_TASK: &str = "/lf.a2a.v1.A2AService/GetTask";

fn is_refused<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{error}");
    error.message().to_owned()
}

fn path_is_refused<T: std::fmt::Debug>(outcome: Result<T, RouteError>) -> String {
    let error = outcome.unwrap_err();
    assert!(matches!(error, RouteError::Version(_)), "{error:?}");
    assert_eq!(error.status(), 400);
    is_refused::<T>(Err(error.to_error()))
}

#[test]
fn an_unsupported_version_is_refused_for_each_operation_and_binding() {
    for wrong in ["99.0", "0.3", "nonsense"] {
        for versions in [only_1_0(), only_1_0().with_lenient(true)] {
            for method in Method::ALL {
                let error = versions.for_method(Some(wrong), method.name()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
                assert_eq!(error.metadata()["supportedVersions"], "1.0");
                let path = dialect(Version::V1_0).grpc().unwrap().path(method).unwrap();
                assert_eq!(is_refused(versions.for_service(Some(wrong), path)), error.message());
            }
            let told = path_is_refused(versions.for_path(Some(wrong), &Verb::GET, "/tasks"));
            assert_eq!(told, format!("version {wrong} is not supported here, only 1.0"));
        }
    }
}

#[test]
fn an_absent_version_means_0_3_unless_the_server_is_lenient() {
    let strict = only_1_0();
    let missing = "a request without A2A-Version means version 0.3, which is not supported here; \
                   a request of version 1.0 must have the header A2A-Version: 1.0";
    for method in ["SendMessage", "tasks/nonsense"] {
        assert_eq!(is_refused(strict.for_method(None, method)), missing, "{method}");
    }
    is_refused(strict.for_method(None, "message/send"));
    assert_eq!(strict.for_method(None, "Nonsense").unwrap_err().kind(), ErrorKind::MethodNotFound);
    assert_eq!(path_is_refused(strict.for_path(None, &Verb::GET, "/tasks")), missing);
    assert_eq!(is_refused(strict.for_service(None, GET_TASK)), missing);

    let lenient = only_1_0().with_lenient(true);
    let meant = lenient.for_method(None, "SendMessage").unwrap();
    assert_eq!((meant.dialect.dialect().version(), meant.older.is_none()), (Version::V1_0, true));
    is_refused(lenient.for_method(None, "message/send"));
    let (web, routed) = lenient.for_path(None, &Verb::GET, "/tasks").unwrap();
    assert_eq!((web.dialect().version(), routed.method), (Version::V1_0, Method::ListTasks));
    let (grpc, method) = lenient.for_service(None, GET_TASK).unwrap();
    assert_eq!((grpc.dialect().version(), method), (Version::V1_0, Method::GetTask));
}

#[test]
fn unknown_methods_and_paths_are_not_found_in_any_version() {
    for versions in [only_1_0(), only_1_0().with_lenient(true), Versions::default()] {
        for declared in [Some("99.0"), Some("1.0"), None] {
            assert!(matches!(versions.for_path(declared, &Verb::GET, "/nowhere"), Err(RouteError::NotFound)));
            let error = versions.for_path(declared, &Verb::PUT, "/tasks").unwrap_err();
            assert!(matches!(error, RouteError::MethodNotAllowed { .. }), "{declared:?}: {error}");
            for path in ["/lf.a2a.v1.A2AService/Nonsense", "/a.b/GetTask", "/", ""] {
                let error = versions.for_service(declared, path).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::MethodNotFound, "{path}");
            }
        }
        for declared in [Some("1.0"), None] {
            let error = versions.for_method(declared, "Nonsense").unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::MethodNotFound, "there is no method Nonsense"));
        }
    }
    // If the version is known, a method name of another version is just unknown.
    assert_eq!(only_1_0().for_method(Some("1.0"), "tasks/nonsense").unwrap_err().kind(), ErrorKind::MethodNotFound);
}

#[test]
fn the_declared_version_decides_and_its_patch_number_is_ignored() {
    for declared in ["1.0", "1.0.7"] {
        let versions = Versions::default();
        let meant = versions.for_method(Some(declared), "GetTask").unwrap();
        assert_eq!((meant.dialect.dialect().version(), meant.older.is_none()), (Version::V1_0, true));
        assert_eq!(versions.for_path(Some(declared), &Verb::GET, "/tasks").unwrap().1.method, Method::ListTasks);
        assert_eq!(versions.for_service(Some(declared), GET_TASK).unwrap().1, Method::GetTask);
    }
}

#[test]
fn a_server_without_versions_refuses_everything() {
    let versions = Versions::only([]);
    let told = "version 1.0 is not supported here";
    assert_eq!(is_refused(versions.for_method(Some("1.0"), "SendMessage")), told);
    assert_eq!(path_is_refused(versions.for_path(Some("1.0"), &Verb::GET, "/tasks")), told);
    assert_eq!(is_refused(versions.for_service(Some("1.0"), GET_TASK)), told);
    for lenient in [false, true] {
        let versions = Versions::only([]).with_lenient(lenient);
        assert_eq!(is_refused(versions.for_method(None, "SendMessage")), told);
        assert_eq!(path_is_refused(versions.for_path(None, &Verb::GET, "/tasks")), told);
        assert_eq!(is_refused(versions.for_service(None, GET_TASK)), told);
    }
    // Errors still have a form.
    assert_eq!(versions.newest().version(), Version::LATEST);
    assert_eq!(Versions::only([Version::V1_0, Version::V1_0]).spoken(), [Version::V1_0]);
}

#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod with_older {
    use super::*;

    const OLD_GET_TASK: &str = "/a2a.v1.A2AService/GetTask";

    fn all() -> Versions {
        Versions::default()
    }

    fn version(versions: &Versions, declared: Option<&str>, method: &str) -> Version {
        versions.for_method(declared, method).unwrap().dialect.dialect().version()
    }

    #[test]
    fn a_method_belongs_to_the_newest_version_that_has_it() {
        for versions in [all(), all().with_lenient(true)] {
            assert_eq!(version(&versions, None, "message/send"), Version::V0_3);
            assert_eq!(version(&versions, None, "tasks/send"), Version::V0_1);
            assert_eq!(version(&versions, Some("0.2.5"), "message/send"), Version::V0_2);
            assert_eq!(version(&versions, Some("0.1"), "tasks/get"), Version::V0_1);
            let shared = versions.for_method(None, "tasks/get").unwrap();
            assert_eq!(shared.dialect.dialect().version(), Version::V0_3);
            assert_eq!(shared.older.unwrap().dialect().version(), Version::V0_1);
            assert!(versions.for_method(None, "message/send").unwrap().older.is_none());
            assert!(versions.for_method(Some("0.3"), "tasks/get").unwrap().older.is_none());
        }
        assert_eq!(version(&all().with_lenient(true), None, "SendMessage"), Version::V1_0);
        assert_eq!(version(&Versions::only([Version::V0_2]), None, "message/send"), Version::V0_2);
    }

    #[test]
    fn a_wrong_declaration_is_refused_and_both_versions_are_named() {
        let names_both = |told: String, is: &str, declared: &str| {
            assert!(told.contains(&format!("belongs to version {is},")), "{told}");
            assert!(told.contains(&format!("the request declares version {declared}")), "{told}");
        };
        for versions in [all(), all().with_lenient(true)] {
            names_both(is_refused(versions.for_method(Some("1.0"), "message/send")), "0.3", "1.0");
            names_both(is_refused(versions.for_method(Some("1.0"), "tasks/send")), "0.1", "1.0");
            names_both(is_refused(versions.for_method(Some("0.3"), "SendMessage")), "1.0", "0.3");
            names_both(path_is_refused(versions.for_path(Some("0.3"), &Verb::GET, "/tasks")), "1.0", "0.3");
            names_both(is_refused(versions.for_service(Some("0.3"), GET_TASK)), "1.0", "0.3");
            names_both(is_refused(versions.for_service(Some("1.0"), OLD_GET_TASK)), "0.3", "1.0");
        }
    }

    #[test]
    fn a_missing_declaration_is_refused_with_the_header_to_send() {
        let told = "a request of version 1.0 must have the header A2A-Version: 1.0";
        assert_eq!(is_refused(all().for_method(None, "SendMessage")), told);
        assert_eq!(path_is_refused(all().for_path(None, &Verb::GET, "/tasks")), told);
        assert_eq!(is_refused(all().for_service(None, GET_TASK)), told);
        assert_eq!(all().for_method(None, "tasks/nonsense").unwrap_err().kind(), ErrorKind::MethodNotFound);
    }

    #[test]
    fn methods_and_paths_of_unsupported_versions_are_refused() {
        let told = "version 0.3 is not supported here, only 1.0";
        for declared in [None, Some("0.3")] {
            assert_eq!(is_refused(only_1_0().for_method(declared, "message/send")), told);
            assert_eq!(path_is_refused(only_1_0().for_path(declared, &Verb::POST, "/v1/message:send")), told);
        }
        is_refused(only_1_0().for_service(None, OLD_GET_TASK));
        let old = Versions::only([Version::V0_3]);
        for declared in [None, Some("1.0")] {
            let told = is_refused(old.for_method(declared, "SendMessage"));
            assert_eq!(told, "version 1.0 is not supported here, only 0.3");
        }
        assert_eq!(old.newest().version(), Version::V0_3);
    }

    #[test]
    fn an_undeclared_path_belongs_to_the_older_version_even_if_the_server_is_lenient() {
        for versions in [all(), all().with_lenient(true)] {
            let (web, routed) = versions.for_path(None, &Verb::POST, "/v1/message:send").unwrap();
            assert_eq!((web.dialect().version(), routed.tenant), (Version::V0_3, None));
            let (web, routed) = versions.for_path(Some("1.0"), &Verb::POST, "/v1/message:send").unwrap();
            assert_eq!((web.dialect().version(), routed.tenant), (Version::V1_0, Some("v1".into())));
            let (grpc, method) = versions.for_service(None, OLD_GET_TASK).unwrap();
            assert_eq!((grpc.dialect().version(), method), (Version::V0_3, Method::GetTask));
        }
        let (web, _) = all().with_lenient(true).for_path(None, &Verb::POST, "/message:send").unwrap();
        assert_eq!(web.dialect().version(), Version::V1_0);
    }
}
