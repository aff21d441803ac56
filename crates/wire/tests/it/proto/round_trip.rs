//! Round trips of any message: the protobuf of the oracle is read like JSON, and the oracle reads the written protobuf
//! unchanged.

use nuncio_model::{Method, Reply};
use nuncio_wire::{Version, dialect, proto};
use proptest::{prelude::*, strategy::Union};
use prost::Message as _;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage as _, Value as Reflected,
};
use serde_json::{Value, json, value::RawValue};

use super::oracle;

/// The side that sends a value. Requests are validated, so they must be valid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Request,
    Reply,
}

/// Any message of this type.
pub(crate) fn any_message(descriptor: &MessageDescriptor, side: Side) -> BoxedStrategy<DynamicMessage> {
    match descriptor.full_name() {
        "google.protobuf.Timestamp" => return any_timestamp(descriptor.clone()),
        "google.protobuf.Value" => return any_json(descriptor.clone(), any_value()),
        "google.protobuf.Struct" => return any_json(descriptor.clone(), any_struct()),
        _ => {}
    }
    let mut fields: Vec<BoxedStrategy<Option<(FieldDescriptor, Reflected)>>> = Vec::new();
    for field in descriptor.fields() {
        if field.containing_oneof().is_none_or(|oneof| oneof.is_synthetic()) {
            fields.push(any_field(&field, side));
        }
    }
    for oneof in descriptor.oneofs().filter(|oneof| !oneof.is_synthetic()) {
        let members = oneof
            .fields()
            .map(|field| any_single(&field, side, false).prop_map(move |value| Some((field.clone(), value))).boxed());
        fields.push(Union::new(members).boxed());
    }
    let descriptor = descriptor.clone();
    fields
        .prop_map(move |fields| {
            let mut message = DynamicMessage::new(descriptor.clone());
            for (field, value) in fields.into_iter().flatten() {
                message.set_field(&field, value);
            }
            message
        })
        .boxed()
}

fn any_field(field: &FieldDescriptor, side: Side) -> BoxedStrategy<Option<(FieldDescriptor, Reflected)>> {
    let options = field.options();
    let behaviour = options.get_extension(&oracle::POOL.get_extension_by_name("google.api.field_behavior").unwrap());
    let required = !behaviour.as_list().unwrap().is_empty();
    // A registered webhook needs its task. The webhook of a message is not checked.
    let required = required || field.full_name() == "lf.a2a.v1.TaskPushNotificationConfig.task_id";
    let least = usize::from(required);
    let value = if field.is_map() {
        let Kind::Message(entry) = field.kind() else { unreachable!("maps are messages") };
        let value = any_single(&entry.map_entry_value_field(), side, false);
        prop::collection::hash_map("\\PC{0,3}".prop_map(MapKey::String), value, 0..3).prop_map(Reflected::Map).boxed()
    } else if field.is_list() {
        prop::collection::vec(any_single(field, side, false), least..3).prop_map(Reflected::List).boxed()
    } else {
        any_single(field, side, required)
    };
    let field = field.clone();
    let value = if required { value.prop_map(Some).boxed() } else { prop::option::weighted(0.6, value).boxed() };
    value.prop_map(move |value| Some((field.clone(), value?))).boxed()
}

fn any_single(field: &FieldDescriptor, side: Side, required: bool) -> BoxedStrategy<Reflected> {
    match field.kind() {
        Kind::String if required => "\\PC{1,4}".prop_map(Reflected::String).boxed(),
        Kind::String => prop_oneof![9 => "\\PC{0,4}", 1 => "a{120,140}"].prop_map(Reflected::String).boxed(),
        Kind::Bytes => any::<Vec<u8>>().prop_map(|bytes| Reflected::Bytes(bytes.into())).boxed(),
        Kind::Bool => any::<bool>().prop_map(Reflected::Bool).boxed(),
        Kind::Int32 if side == Side::Request => (1..=100).prop_map(Reflected::I32).boxed(),
        Kind::Int32 => any::<i32>().prop_map(Reflected::I32).boxed(),
        Kind::Enum(role) if role.name() == "Role" && side == Side::Request => Just(Reflected::EnumNumber(1)).boxed(),
        Kind::Enum(it) => {
            let least = i32::from(required);
            let numbers: Vec<_> = it.values().map(|value| value.number()).filter(|it| *it >= least).collect();
            prop::sample::select(numbers).prop_map(Reflected::EnumNumber).boxed()
        }
        Kind::Message(message) => any_message(&message, side).prop_map(Reflected::Message).boxed(),
        other => unreachable!("{other:?}"),
    }
}

fn any_timestamp(descriptor: MessageDescriptor) -> BoxedStrategy<DynamicMessage> {
    let (first, last) = (-62_135_596_800_i64, 253_402_300_799);
    let ends = prop_oneof![Just((first, 0)), Just((last, 999_999_999))];
    prop_oneof![9 => (first..=last, 0..1_000_000_000_i32), 1 => ends]
        .prop_map(move |(seconds, nanos)| {
            let mut message = DynamicMessage::new(descriptor.clone());
            message.set_field_by_name("seconds", Reflected::I64(seconds));
            message.set_field_by_name("nanos", Reflected::I32(nanos));
            message
        })
        .boxed()
}

fn any_json(
    descriptor: MessageDescriptor,
    json: impl Strategy<Value = Value> + 'static,
) -> BoxedStrategy<DynamicMessage> {
    json.prop_map(move |json| oracle::from_json(&descriptor, &json)).boxed()
}

fn any_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,3}", inner, 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
    .boxed()
}

fn any_struct() -> BoxedStrategy<Value> {
    prop::collection::btree_map("\\PC{0,6}", any_value(), 0..3)
        .prop_map(|it| Value::Object(it.into_iter().collect()))
        .boxed()
}

/// A message in the encoding of the oracle.
pub(crate) struct Sent {
    pub(crate) bytes: Vec<u8>,
    message: DynamicMessage,
    json: String,
}

impl Sent {
    fn new(message: &DynamicMessage) -> Self {
        let bytes = message.encode_to_vec();
        // Decodes the bytes again, so that explicit defaults become unset.
        let message = oracle::from_bytes(&message.descriptor(), &bytes);
        let json = oracle::to_json(&message).to_string();
        Self { bytes, message, json }
    }

    /// Prints JSON if the messages differ, because the descriptors would fill pages.
    fn assert_is(&self, bytes: &[u8]) {
        let read = oracle::from_bytes(&self.message.descriptor(), bytes);
        assert!(read == self.message, "{}\n{}", oracle::to_json(&read), self.json);
    }

    /// The oracle knows each member of the JSON, and reads the same message.
    fn assert_is_json(&self, json: &[u8]) {
        let read = oracle::from_json(&self.message.descriptor(), &serde_json::from_slice(json).unwrap());
        self.assert_is(&read.encode_to_vec());
    }
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.json)
    }
}

pub(crate) fn any_call() -> BoxedStrategy<(Method, Sent)> {
    let service = oracle::POOL.get_service_by_name(proto::SERVICE).unwrap();
    let calls = service.methods().map(|call| {
        let method = Method::from_name(call.name()).unwrap();
        any_message(&call.input(), Side::Request).prop_map(move |message| (method, Sent::new(&message))).boxed()
    });
    Union::new(calls).boxed()
}

pub(crate) fn any_reply() -> BoxedStrategy<(Method, Sent)> {
    let service = oracle::POOL.get_service_by_name(proto::SERVICE).unwrap();
    let replies = service.methods().filter(|call| call.output().full_name() != "google.protobuf.Empty").map(|call| {
        let method = Method::from_name(call.name()).unwrap();
        any_message(&call.output(), Side::Reply).prop_map(move |message| (method, Sent::new(&message))).boxed()
    });
    Union::new(replies).boxed()
}

/// Any card.
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn any_card() -> BoxedStrategy<nuncio_model::AgentCard> {
    let card = any_message(&oracle::message("AgentCard"), Side::Reply);
    card.prop_map(|message| serde_json::from_value(oracle::to_json(&message)).unwrap()).boxed()
}

/// A reply as JSON, for comparisons.
pub(crate) fn json_of(method: Method, reply: &Reply) -> Value {
    let mut json = Vec::new();
    dialect(Version::V1_0).jsonrpc().encode_reply(method, reply, &mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn calls((method, sent) in any_call()) {
        let call = proto::decode_call(method, &sent.bytes).unwrap();
        let params = RawValue::from_string(sent.json.clone()).unwrap();
        prop_assert_eq!(&call, &dialect(Version::V1_0).jsonrpc().decode_call(method, Some(&params)).unwrap());

        let mut bytes = Vec::new();
        proto::encode_call(&call, &mut bytes);
        sent.assert_is(&bytes);
        sent.assert_is_json(dialect(Version::V1_0).jsonrpc().encode_call(&call).unwrap().get().as_bytes());
        prop_assert_eq!(proto::decode_call(method, &bytes).unwrap(), call);
    }

    #[test]
    fn replies_and_events((method, sent) in any_reply()) {
        let mut bytes = Vec::new();
        if method.is_streaming() {
            let event = proto::decode_event(&sent.bytes).unwrap();
            prop_assert_eq!(&event, &dialect(Version::V1_0).jsonrpc().decode_event(sent.json.as_bytes()).unwrap());
            proto::encode_event(&event, &mut bytes);
            let mut json = Vec::new();
            dialect(Version::V1_0).jsonrpc().encode_event(&event, &mut json);
            sent.assert_is_json(&json);
            prop_assert_eq!(proto::decode_event(&bytes).unwrap(), event);
        } else {
            let reply = proto::decode_reply(method, &sent.bytes).unwrap();
            let same = dialect(Version::V1_0).jsonrpc().decode_reply(method, sent.json.as_bytes()).unwrap();
            prop_assert_eq!(json_of(method, &reply), json_of(method, &same));
            sent.assert_is_json(json_of(method, &reply).to_string().as_bytes());
            proto::encode_reply(method, &reply, &mut bytes).unwrap();
        }
        sent.assert_is(&bytes);
    }
}

#[test]
fn a_deletion_answers_with_an_empty_message() {
    let mut bytes = Vec::new();
    proto::encode_reply(Method::DeleteTaskPushNotificationConfig, &Reply::Deleted, &mut bytes).unwrap();
    assert!(bytes.is_empty());
    assert!(matches!(proto::decode_reply(Method::DeleteTaskPushNotificationConfig, &bytes), Ok(Reply::Deleted)));
}

#[test]
fn numbers_without_a_fraction_become_integers() {
    let metadata = json!({
        "two": 2.0, "half": 0.5, "least": i64::MIN, "big": 1e18, "bigger": 1e19, "huge": 1e300, "minus": -0.0,
    });
    let request = json!({"id": "t", "metadata": metadata});
    let bytes = oracle::from_json(&oracle::message("CancelTaskRequest"), &request).encode_to_vec();
    let nuncio_model::Call::CancelTask(request) = proto::decode_call(Method::CancelTask, &bytes).unwrap() else {
        panic!("another call");
    };
    assert_eq!(
        serde_json::to_string(&request.metadata).unwrap(),
        r#"{"big":1000000000000000000,"bigger":10000000000000000000,"half":0.5,"huge":1e+300,"least":-9223372036854775808,"minus":-0.0,"two":2}"#,
    );
}
