use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(json: &str) -> Data {
    json.parse().unwrap()
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(?s).{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::btree_map("(?s).{0,2}", inner, 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn a_value_is_the_text_that_serde_json_writes_of_it(value in any_value()) {
        let data = Data::from(value.clone());
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(data.as_str(), &text);
        prop_assert_eq!(&data.to_value(), &value);
        prop_assert_eq!(&read(&serde_json::to_string_pretty(&value).unwrap()), &data);
        prop_assert_eq!(data.values(), count(&value));
        prop_assert!(json::nests_within(&value, data.levels()));
        prop_assert!(data.levels() == 0 || !json::nests_within(&value, data.levels() - 1));
        for written in [serde_json::to_string(&data), json::to_string(&data)] {
            prop_assert_eq!(written.unwrap(), &text[..]);
        }
        prop_assert_eq!(serde_json::to_value(&data).unwrap(), value);
    }
}

#[test]
fn text_is_one_compact_line_in_one_form() {
    for (json, text) in [
        (" [ 1 ,\n\t2.50,1e2, -0 ] ", "[1,2.5,100.0,-0.0]"),
        (r#"{"b" : 1, "a" : {"c":[ ]} }"#, r#"{"b":1,"a":{"c":[]}}"#),
        (r#""\u00e9\/\u000a\ud83d\ude00""#, "\"é/\\n😀\""),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e+19"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("null", "null"),
        (r#""[\":""#, r#""[\":""#),
        (r#"[":","[","{",""]"#, r#"[":","[","{",""]"#),
        (r#"{":":":","[":["{"]}"#, r#"{":":":","[":["{"]}"#),
    ] {
        assert_eq!(read(json).as_str(), text);
        assert_eq!(read(text).as_str(), text);
    }
}

#[test]
fn what_no_parser_of_values_takes_is_refused() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for json in ["", "[1", "nul", "01", "1e999", r#""\ud800""#, "\"\n\"", "[1]x", "{1:2}", &deep] {
        let expected = serde_json::from_str::<Value>(json).unwrap_err().to_string();
        assert_eq!(json.parse::<Data>().unwrap_err().to_string(), expected, "{json:.20}");
    }
}

#[test]
fn the_last_of_members_of_one_name_stays() {
    for (json, text) in [
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        (r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"b":2,"a":3}"#),
        (r#"{"a":{"b":[[[]]],"b":0,"c":1},"d":[{"e":1,"e":2},{}]}"#, r#"{"a":{"b":0,"c":1},"d":[{"e":2},{}]}"#),
        (r#"[{"a":1,"a":[2,{"a":3,"a":4}]},5]"#, r#"[{"a":[2,{"a":4}]},5]"#),
    ] {
        let data = read(json);
        assert_eq!(data.as_str(), text);
        assert_eq!((data.values(), data.levels()), (read(text).values(), read(text).levels()), "{json}");
        assert_eq!(data.to_value(), serde_json::from_str::<Value>(json).unwrap());
    }
    let member = |name: u32| format!("\"{name}\":{name}");
    let many: Vec<_> = (0..100).chain(50..60).map(member).collect();
    let data = read(&format!("{{{}}}", many.join(",")));
    assert_eq!((data.values(), data.member("55").unwrap().to_value()), (101, json!(55)));
    assert!(data.as_str().ends_with(r#""49":49,"60":60,"61":61,"62":62,"63":63,"64":64,"65":65,"66":66,"67":67,"68":68,"69":69,"70":70,"71":71,"72":72,"73":73,"74":74,"75":75,"76":76,"77":77,"78":78,"79":79,"80":80,"81":81,"82":82,"83":83,"84":84,"85":85,"86":86,"87":87,"88":88,"89":89,"90":90,"91":91,"92":92,"93":93,"94":94,"95":95,"96":96,"97":97,"98":98,"99":99,"50":50,"51":51,"52":52,"53":53,"54":54,"55":55,"56":56,"57":57,"58":58,"59":59}"#));
}

/// 200,000 objects: if each object copied the text before it, this test would copy 200 GB.
#[test]
fn a_repetition_costs_its_object_and_not_the_text_before_it() {
    let objects = vec![r#"{"a":0,"a":1}"#; 200_000];
    let data = read(&format!("[{}]", objects.join(",")));
    assert_eq!((data.values(), data.as_str().len()), (400_001, 200_000 * 8 + 1));
}

#[test]
fn data_is_equal_in_any_order_of_members() {
    assert_eq!(read(r#"{"a":1,"b":[2]}"#), read(r#"{"b":[2],"a":1}"#));
    assert_ne!(read(r#"{"a":1,"b":[2]}"#), read(r#"{"b":[1],"a":2}"#));
    assert_ne!(read("[1,2]"), read("[2,1]"));
    assert_ne!(read("1"), read("1.0"));
}

#[test]
fn a_member_is_found_by_its_name() {
    let data = read(r#"{"a":{"value":1},"value":[{"x":2}],"\n":3}"#);
    assert_eq!(data.member("value").unwrap().as_str(), r#"[{"x":2}]"#);
    assert_eq!(data.member("\n"), Some(3.into()));
    assert_eq!(data.member("b"), None);
    assert_eq!(read("[1]").member("a"), None);
}

#[test]
fn anything_that_can_be_written_becomes_data() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Row {
        place: String,
        days: Option<u8>,
    }
    let row = Row { place: "Bern".into(), days: None };
    let data = Data::of(&row).unwrap();
    assert_eq!(data.as_str(), r#"{"place":"Bern","days":null}"#);
    assert_eq!(data.parse::<Row>().unwrap(), row);
    data.parse::<Vec<u8>>().unwrap_err();
    Data::of(&std::collections::BTreeMap::from([(vec![1], 1)])).unwrap_err();
}

#[test]
fn a_value_of_any_depth_is_kept() {
    let deep = (0..300).fold(Value::Null, |value, _| Value::from(vec![value]));
    let data = Data::from(deep.clone());
    assert_eq!((data.levels(), data.values()), (300, 301));
    assert_eq!(data.to_value(), deep);
}
