//! Arbitrary JSON of messages, created from the specification's tables.

use proptest::{collection::vec, option, prelude::*, strategy::Union};
use serde_json::{Map, Value};

use crate::spec::{Field, Messages};

/// An arbitrary message of this type in its written form: optional fields at random, required fields always.
pub(crate) fn message(messages: &Messages, name: &str) -> BoxedStrategy<Value> {
    let fields = &messages.messages[name].fields;
    let mut object = Just(Map::new()).boxed();
    let choices: Vec<_> = fields.iter().filter(|field| field.oneof.is_some()).collect();
    if !choices.is_empty() {
        let one = Union::new(choices.into_iter().map(|field| member(messages, field)));
        object = with(object, one.prop_map(Some).boxed());
    }
    for field in fields.iter().filter(|field| field.oneof.is_none()) {
        let member = member(messages, field);
        let always = field.required || (name, &*field.name) == ("ListTaskPushNotificationConfigsResponse", "configs");
        let member = if always { member.prop_map(Some).boxed() } else { option::of(member).boxed() };
        object = with(object, member);
    }
    object.prop_map(Value::Object).boxed()
}

type Member = (String, Value);

fn with(
    object: BoxedStrategy<Map<String, Value>>,
    member: BoxedStrategy<Option<Member>>,
) -> BoxedStrategy<Map<String, Value>> {
    (object, member)
        .prop_map(|(mut object, member)| {
            object.extend(member);
            object
        })
        .boxed()
}

/// A field with a value. The value is the default only if the default is written.
fn member(messages: &Messages, field: &Field) -> BoxedStrategy<Member> {
    let name = field.json_name.clone();
    let kind = field.map_value.as_ref().unwrap_or(&field.kind);
    let single = single(messages, kind);
    let value = match &*field.cardinality {
        "repeated" => vec(single, 0..3).prop_map(Value::from).boxed(),
        "map" => vec((text(), single), 0..3).prop_map(|entries| Value::Object(entries.into_iter().collect())).boxed(),
        _ => single,
    };
    let value = if field.presence(messages) == "implicit" {
        let default = field.default(messages);
        value.prop_filter("would be left out", move |it| *it != default).boxed()
    } else {
        value
    };
    value.prop_map(move |value| (name.clone(), value)).boxed()
}

fn single(messages: &Messages, kind: &str) -> BoxedStrategy<Value> {
    match kind {
        "string" => text().prop_map(Value::from).boxed(),
        "int32" => any::<i32>().prop_map(Value::from).boxed(),
        "bool" => any::<bool>().prop_map(Value::from).boxed(),
        "bytes" => {
            prop_oneof![Just(""), Just("AA=="), Just("+/8="), Just("bWFpbixtbQ==")].prop_map(Value::from).boxed()
        }
        "google.protobuf.Struct" => {
            vec((text(), any_json()), 0..3).prop_map(|entries| Value::Object(entries.into_iter().collect())).boxed()
        }
        "google.protobuf.Value" => any_json(),
        "google.protobuf.Timestamp" => timestamp(),
        name => match messages.enums.get(name) {
            Some(values) => {
                let names: Vec<_> = values.keys().cloned().map(Value::from).collect();
                proptest::sample::select(names).boxed()
            }
            None => message(messages, name),
        },
    }
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![3 => "[a-z]{0,6}", 1 => any::<String>()].boxed()
}

fn timestamp() -> BoxedStrategy<Value> {
    let fraction = prop_oneof![Just(""), Just(".120"), Just(".000001"), Just(".123456789")];
    let any = (1..=9999, 1..=12, 1..=28, 0..=23, 0..=59, 0..=59, fraction).prop_map(
        |(year, month, day, hour, minute, second, fraction)| {
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
        },
    );
    let ends = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"].map(str::to_owned);
    prop_oneof![9 => any, 1 => proptest::sample::select(ends.to_vec())].prop_map(Value::from).boxed()
}

fn any_json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |it| it.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((text(), inner), 0..3).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
    .boxed()
}
