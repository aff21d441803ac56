//! The `.proto` file matches the facts of 0.3, with the additions of SDKs.

use std::{fs, path::Path};

use nuncio_model::Method;
use nuncio_wire::{
    Version, Versions,
    proto::{self, health, reflection},
};
use prost::Message as _;
use serde_json::{Value, json};

use super::grpc;
use crate::{
    proto::{
        descriptor::{assert_calls, assert_enums, assert_messages, assert_options},
        oracle,
    },
    spec,
};

const PACKAGE: &str = "a2a.v1";
const SERVICE: &str = "a2a.v1.A2AService";

fn facts(proto: &str) -> Value {
    spec::file::<Value>("v0.3/messages.json")[proto].clone()
}

#[test]
fn the_proto_matches_the_sdks() {
    let facts = facts("proto_sdk");
    assert_messages(PACKAGE, &facts);
    assert_enums(PACKAGE, &facts);
    assert_calls(SERVICE, &facts);
    assert_options("a2a/v1/a2a.proto", &facts);
}

#[test]
fn the_proto_has_three_fields_more_than_the_text() {
    let (text, sdk) = (facts("proto_tag"), facts("proto_sdk"));
    let mut added = Vec::new();
    for (name, message) in sdk["messages"].as_object().unwrap() {
        let known = text["messages"][name]["fields"].as_array().unwrap();
        for field in message["fields"].as_array().unwrap() {
            if !known.contains(field) {
                added.push(format!("{name}.{}", field["name"].as_str().unwrap()));
            }
        }
        assert!(known.iter().all(|field| message["fields"].as_array().unwrap().contains(field)), "{name}");
    }
    added.sort();
    assert_eq!(added, ["AgentCard.icon_url", "FilePart.name", "Part.metadata"]);
    assert_eq!(text["enums"], sdk["enums"]);
}

#[test]
fn each_call_has_a_path() {
    let service = oracle::POOL.get_service_by_name(SERVICE).unwrap();
    assert_eq!(service.methods().len(), Method::ALL.len() - 1);
    for method in Method::ALL {
        let Some(path) = grpc().path(method) else {
            assert_eq!(method, Method::ListTasks);
            continue;
        };
        let name = path.strip_prefix("/a2a.v1.A2AService/").unwrap();
        let call = service.methods().find(|call| call.name() == name).unwrap();
        assert_eq!(call.is_server_streaming(), method.is_streaming());
        assert_eq!(grpc().method(path), Some(method));
    }
}

#[test]
fn method_names_before_0_2_5_are_accepted() {
    for (name, method) in [
        ("CreateTaskPushNotification", Method::CreateTaskPushNotificationConfig),
        ("GetTaskPushNotification", Method::GetTaskPushNotificationConfig),
        ("ListTaskPushNotification", Method::ListTaskPushNotificationConfigs),
    ] {
        assert_eq!(grpc().method(&format!("/{SERVICE}/{name}")), Some(method));
    }
    for path in ["/a2a.v1.A2AService/ListTasks", "/a2a.v1.A2AService/", "/lf.a2a.v1.A2AService/GetTask", "", "/"] {
        assert_eq!(grpc().method(path), None, "{path}");
    }
}

/// With `UPDATE=1` in the environment, the test writes the file.
#[test]
fn descriptors_are_those_of_the_proto_file() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/proto/reflection/descriptors-v0_3.bin");
    let mut compiler = oracle::compiler();
    compiler.include_source_info(false).include_imports(false);
    let descriptors = compiler.open_files(["a2a/v1/a2a.proto"]).unwrap().encode_file_descriptor_set();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &descriptors).unwrap();
    }
    assert!(fs::read(&file).unwrap() == descriptors, "run this test with UPDATE=1");
}

fn listed(versions: &Versions) -> Vec<String> {
    let message = |name: &str| oracle::POOL.get_message_by_name(&format!("grpc.reflection.v1.{name}")).unwrap();
    let question = oracle::from_json(&message("ServerReflectionRequest"), &json!({"listServices": ""}));
    let mut answer = Vec::new();
    reflection::answer(&question.encode_to_vec(), versions, &mut answer).unwrap();
    let answer = oracle::to_json(&oracle::from_bytes(&message("ServerReflectionResponse"), &answer));
    let services = answer["listServicesResponse"]["service"].as_array().unwrap();
    let mut names: Vec<_> = services.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn reflection_lists_only_services_of_spoken_versions() {
    let always = [health::SERVICE, "grpc.reflection.v1.ServerReflection"];
    assert_eq!(listed(&Versions::default()), [&[SERVICE][..], &always[..], &[proto::SERVICE][..]].concat());
    assert_eq!(listed(&Versions::only([Version::V1_0])), [&always[..], &[proto::SERVICE][..]].concat());
    assert_eq!(listed(&Versions::only([Version::V0_2])), [&[SERVICE][..], &always[..]].concat());
}

#[test]
fn reflection_returns_the_file_with_its_dependencies() {
    let message = |name: &str| oracle::POOL.get_message_by_name(&format!("grpc.reflection.v1.{name}")).unwrap();
    let question = json!({"fileContainingSymbol": "a2a.v1.A2AService.TaskSubscription"});
    let question = oracle::from_json(&message("ServerReflectionRequest"), &question).encode_to_vec();
    let mut answer = Vec::new();
    reflection::answer(&question, &Versions::default(), &mut answer).unwrap();
    let answer = oracle::to_json(&oracle::from_bytes(&message("ServerReflectionResponse"), &answer));
    let files = answer["fileDescriptorResponse"]["fileDescriptorProto"].as_array().unwrap();
    // The file itself, three files of google.api and descriptor.proto, three files of google.protobuf, and their
    // dependencies.
    assert!(files.len() >= 8, "{}", files.len());
}
