//! Server reflection: the descriptors match the `.proto` files, and tools can find each file.

use std::{fs, path::Path};

use nuncio_wire::{
    Version, Versions,
    proto::{self, health, reflection},
};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, ReflectMessage as _};
use serde_json::{Value, json};

use super::oracle;

const SERVED: [&str; 3] = ["lf/a2a/v1/a2a.proto", "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto"];

fn request() -> MessageDescriptor {
    oracle::POOL.get_message_by_name("grpc.reflection.v1.ServerReflectionRequest").unwrap()
}

fn response() -> MessageDescriptor {
    oracle::POOL.get_message_by_name("grpc.reflection.v1.ServerReflectionResponse").unwrap()
}

/// Sends a request in JSON and returns the answer.
fn ask(question: &Value) -> DynamicMessage {
    let question = oracle::from_json(&request(), question).encode_to_vec();
    let mut answer = Vec::new();
    reflection::answer(&question, &Versions::default(), &mut answer).unwrap();
    oracle::from_bytes(&response(), &answer)
}

fn files(question: &Value) -> Vec<Vec<u8>> {
    let answer = ask(question);
    let files = answer.get_field_by_name("file_descriptor_response").unwrap();
    let files = files.as_message().unwrap().get_field_by_name("file_descriptor_proto").unwrap().into_owned();
    files.as_list().unwrap().iter().map(|file| file.as_bytes().unwrap().to_vec()).collect()
}

/// With `UPDATE=1` in the environment, the test writes the file.
#[test]
fn descriptors_are_those_of_the_proto_files() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/proto/reflection/descriptors.bin");
    let descriptors =
        oracle::compiler().include_source_info(false).open_files(SERVED).unwrap().encode_file_descriptor_set();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &descriptors).unwrap();
    }
    assert!(fs::read(&file).unwrap() == descriptors, "run this test with UPDATE=1");
}

#[test]
fn services_are_listed() {
    let question = oracle::from_json(&request(), &json!({"host": "h", "listServices": ""})).encode_to_vec();
    let mut answer = Vec::new();
    reflection::answer(&question, &Versions::only([Version::V1_0]), &mut answer).unwrap();
    let services = oracle::to_json(&oracle::from_bytes(&response(), &answer));
    assert_eq!(services["validHost"], "h");
    assert_eq!(services["originalRequest"], json!({"host": "h", "listServices": ""}));
    let mut names: Vec<_> =
        services["listServicesResponse"]["service"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    names.sort_by_key(|name| name.as_str());
    assert_eq!(names, [health::SERVICE, "grpc.reflection.v1.ServerReflection", proto::SERVICE]);
}

#[test]
fn files_come_with_their_dependencies() {
    for question in [
        json!({"fileContainingSymbol": proto::SERVICE}),
        json!({"fileContainingSymbol": "lf.a2a.v1.A2AService.GetTask"}),
        json!({"fileContainingSymbol": "lf.a2a.v1.Task.id"}),
        json!({"fileContainingSymbol": ".lf.a2a.v1.TaskState"}),
        json!({"fileByFilename": "lf/a2a/v1/a2a.proto"}),
    ] {
        let mut files = files(&question);
        files.reverse();
        let mut pool = DescriptorPool::new();
        let set = files.iter().map(|file| prost_reflect::prost_types::FileDescriptorProto::decode(&file[..]).unwrap());
        pool.add_file_descriptor_protos(set).unwrap();
        assert_eq!(pool.get_service_by_name(proto::SERVICE).unwrap().methods().len(), 11);
        assert_eq!(pool.files().len(), files.len());
    }
    assert_eq!(files(&json!({"fileByFilename": "google/protobuf/struct.proto"})).len(), 1);
}

#[test]
fn unknown_files_and_symbols_are_reported() {
    for (question, code) in [
        (json!({"fileContainingSymbol": "some.Other"}), 5),
        (json!({"fileByFilename": "other.proto"}), 5),
        (json!({"fileContainingExtension": {"containingType": "a", "extensionNumber": 1}}), 12),
        (json!({"allExtensionNumbersOfType": "a"}), 12),
    ] {
        let answer = oracle::to_json(&ask(&question));
        assert_eq!(answer["errorResponse"]["errorCode"], code, "{answer}");
    }
    assert!(reflection::answer(b"\xff", &Versions::default(), &mut Vec::new()).is_err());
    let answer = ask(&json!({}));
    assert_eq!(answer.descriptor().name(), "ServerReflectionResponse");
}
