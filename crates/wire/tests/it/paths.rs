//! The paths of HTTP+JSON: the specified paths, and other paths.

use http::Method as Verb;
use nuncio_model::Method;
use nuncio_wire::{
    RestDialect, Version, dialect,
    rest::{RouteError, Routed},
};
use serde::Deserialize;

use crate::spec;

fn web() -> &'static dyn RestDialect {
    dialect(Version::V1_0).rest().unwrap()
}

fn route(verb: &str, path: &str) -> Result<Routed, RouteError> {
    web().route(&verb.parse::<Verb>().unwrap(), path)
}

/// The operation, tenant, task and configuration of a path.
fn meaning(verb: &str, path: &str) -> (Method, String, String, String) {
    let routed = route(verb, path).unwrap_or_else(|error| panic!("{verb} {path}: {error}"));
    (
        routed.method,
        routed.tenant.unwrap_or_default().to_string(),
        routed.task_id.unwrap_or_default().to_string(),
        routed.config_id.unwrap_or_default().to_string(),
    )
}

#[test]
fn each_specified_path_is_routed_with_and_without_a_tenant() {
    #[derive(Deserialize)]
    struct Facts {
        services: std::collections::BTreeMap<String, Service>,
    }
    #[derive(Deserialize)]
    struct Service {
        methods: Vec<Rpc>,
    }
    #[derive(Deserialize)]
    struct Rpc {
        name: String,
        http: Rule,
    }
    #[derive(Deserialize)]
    struct Rule {
        method: String,
        path: String,
        #[serde(default)]
        additional_bindings: Vec<Rule>,
    }
    let facts: Facts = spec::file("v1.0/messages.json");
    let rpcs = &facts.services["A2AService"].methods;
    assert_eq!(rpcs.len(), Method::ALL.len());
    for Rpc { name, http } in rpcs {
        for rule in http.additional_bindings.iter().chain([http]) {
            let (task, config) = match &*rule.path {
                path if path.contains("{task_id=*}") => ("{task_id=*}", "{id=*}"),
                _ => ("{id=*}", "{}"),
            };
            let path = rule.path.replace("{tenant}", "north").replace(task, "t-1").replace(config, "c-1");
            let tenant = if rule.path.contains("{tenant}") { "north" } else { "" };
            let has = |name: &str, id: &'static str| if rule.path.contains(name) { id } else { "" };
            let ids = (has(task, "t-1"), has(config, "c-1"));
            let expected = (Method::from_name(name).unwrap(), tenant.into(), ids.0.into(), ids.1.into());
            assert_eq!(meaning(&rule.method, &path), expected, "{} {}", rule.method, rule.path);
        }
    }
}

#[test]
fn get_and_post_both_subscribe() {
    for verb in ["GET", "POST"] {
        assert_eq!(meaning(verb, "/tasks/t:subscribe").0, Method::SubscribeToTask);
    }
}

#[test]
fn segments_are_decoded_after_they_are_split() {
    let task = |verb, path| meaning(verb, path).2;
    assert_eq!(task("GET", "/tasks/a%2Fb"), "a/b");
    assert_eq!(task("GET", "/tasks/%C3%A9%20x"), "é x");
    assert_eq!(task("POST", "/tasks/a%3Ab:cancel"), "a:b");
    assert_eq!(task("GET", "/tasks/a:b"), "a:b");
    assert_eq!(meaning("GET", "/a%2Fb/tasks").1, "a/b");
    assert_eq!(meaning("DELETE", "/tasks/a%3Ab/pushNotificationConfigs/c%2Fd").3, "c/d");
}

#[test]
fn an_encoded_colon_precedes_a_verb_only_in_post_requests() {
    assert_eq!(meaning("POST", "/message%3Asend").0, Method::SendMessage);
    assert_eq!(meaning("POST", "/north/message%3astream").0, Method::SendStreamingMessage);
    assert_eq!(meaning("POST", "/tasks/t%3Acancel").0, Method::CancelTask);
    assert_eq!(meaning("POST", "/tasks/t%3Asubscribe").0, Method::SubscribeToTask);
    // The colon can be a part of the id.
    assert_eq!(meaning("GET", "/tasks/t%3Acancel"), (Method::GetTask, String::new(), "t:cancel".into(), String::new()));
}

#[test]
fn a_resource_name_is_a_tenant_only_if_the_path_is_otherwise_unknown() {
    assert_eq!(meaning("GET", "/tasks/tasks").0, Method::GetTask);
    assert_eq!(
        meaning("POST", "/tasks/message:send"),
        (Method::SendMessage, "tasks".into(), String::new(), String::new())
    );
    assert_eq!(meaning("GET", "/tasks/tasks/t").1, "tasks");
}

#[test]
fn other_paths_are_not_found() {
    for path in [
        "",
        "/",
        "tasks",
        "/task",
        "/tasks/",
        "//tasks",
        "/a/b/tasks",
        "/tasks/t/x",
        "/tasks/t/pushNotificationConfigs/c/d",
        "/message:fly",
        "/v1/message:fly",
        "/tasks/%FF",
        "/extendedagentcard",
        "/tenant/x/tasks",
    ] {
        assert!(matches!(route("GET", path), Err(RouteError::NotFound)), "{path}");
    }
}

#[test]
fn other_verbs_are_not_allowed() {
    for (verb, path, allow) in [
        ("GET", "/message:send", "POST"),
        ("PUT", "/north/message:stream", "POST"),
        ("POST", "/tasks", "GET"),
        ("DELETE", "/tasks/t", "GET"),
        ("POST", "/tasks/t", "GET"),
        ("GET", "/tasks/t:cancel", "POST"),
        ("DELETE", "/tasks/t:subscribe", "GET, POST"),
        ("DELETE", "/tasks/t/pushNotificationConfigs", "GET, POST"),
        ("POST", "/tasks/t/pushNotificationConfigs/c", "GET, DELETE"),
        ("POST", "/extendedAgentCard", "GET"),
    ] {
        let refusal = route(verb, path).unwrap_err();
        assert_eq!((refusal.allow(), refusal.status().as_u16()), (Some(allow), 405), "{verb} {path}");
    }
}

#[test]
fn routing_errors_become_protocol_errors() {
    let show = |verb, path| {
        let (status, body) = nuncio_wire::rest::write_refusal(web(), &route(verb, path).unwrap_err());
        format!("{status}\n{}", String::from_utf8(body).unwrap())
    };
    insta::assert_snapshot!(show("GET", "/nowhere"));
    insta::assert_snapshot!(show("DELETE", "/tasks"));
}
