//! Hand-written protobuf: the request of the benchmark over gRPC, and the examined field of the answer.

use super::request::NUMBER;

const LENGTH_DELIMITED: u8 = 2;
const COMPLETED: u64 = 3;
const ROLE_USER: u8 = 1;

/// `SendMessageRequest` with a text message in a gRPC frame; `NUMBER` stands for the number of the request.
pub(crate) fn send_message(text: &str) -> Vec<u8> {
    let mut part = Vec::new();
    field(&mut part, 1, text.as_bytes());
    let mut message = Vec::new();
    field(&mut message, 1, format!("m-{NUMBER}").as_bytes());
    message.extend([4 << 3, ROLE_USER]);
    field(&mut message, 5, &part);
    let mut request = Vec::new();
    field(&mut request, 2, &message);
    frame(&request)
}

/// Whether a gRPC frame contains a `SendMessageResponse` with a completed task.
pub(crate) fn is_completed(frame: &[u8]) -> bool {
    completed(frame).unwrap_or(false)
}

fn completed(frame: &[u8]) -> Option<bool> {
    let (prefix, response) = frame.split_at_checked(5)?;
    let length = u32::from_be_bytes(*prefix.last_chunk()?);
    if prefix[0] != 0 || usize::try_from(length).ok()? != response.len() {
        return None;
    }
    let Value::Bytes(task) = find(response, 1)? else {
        return None;
    };
    let Value::Bytes(status) = find(task, 3)? else {
        return None;
    };
    Some(matches!(find(status, 1)?, Value::Varint(COMPLETED)))
}

enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed,
}

/// The first field with this number.
fn find(mut message: &[u8], wanted: u64) -> Option<Value<'_>> {
    loop {
        let key = varint(&mut message)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut message)?),
            1 => take(&mut message, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = varint(&mut message)?;
                Value::Bytes(take(&mut message, usize::try_from(length).ok()?)?)
            }
            5 => take(&mut message, 4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        if key >> 3 == wanted {
            return Some(value);
        }
    }
}

fn take<'a>(input: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(length)?;
    *input = rest;
    Some(taken)
}

fn varint(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn field(message: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    message.push(number << 3 | LENGTH_DELIMITED);
    let mut length = bytes.len();
    while length > 0x7f {
        message.push(u8::try_from(length & 0x7f).unwrap_or(0) | 0x80);
        length >>= 7;
    }
    message.push(u8::try_from(length).unwrap_or(0));
    message.extend_from_slice(bytes);
}

fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut frame = vec![0];
    frame.extend(length.to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_message() {
        let expected = b"\0\0\0\0\x1c\x12\x1a\x0a\x0em-############\x20\x01\x2a\x06\x0a\x04echo";
        assert_eq!(send_message("echo"), expected);
    }

    #[test]
    fn finds_the_state_of_the_task() {
        let response = |state: u8| {
            let mut task = Vec::new();
            field(&mut task, 1, &[b't'; 200]);
            field(&mut task, 3, &[1 << 3, state, 3 << 3 | 2, 2, 8, 1]);
            let mut response = Vec::new();
            field(&mut response, 1, &task);
            frame(&response)
        };
        assert!(is_completed(&response(3)));
        assert!(!is_completed(&response(2)));
        assert!(!is_completed(&response(3)[..50]));
        assert!(!is_completed(b"\0\0\0\0\0"));
    }
}
