//! Deterministic variations of inputs, a fast check of inputs similar to the corpus. `./fuzz` is the real search.

/// A deterministic generator of numbers (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap() % end.max(1)
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Sequences that are more difficult for decoders than single bytes.
const WORDS: &[&str] = &[
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "0",
    "-1",
    "1e999",
    "9223372036854775808",
    "0.1",
    "\\u0000",
    "\\ud800",
    "é",
    "\u{feff}",
    "\n",
    "\r",
    ":",
    ",",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "%00",
    "%2F",
    "/",
    "?",
    "&",
    "=",
    "\"kind\":",
    "\"parts\":",
    "\"metadata\":",
    "\"message\":",
    "\"role\":",
    "\"id\":",
    "\"state\":",
    "\"final\":",
    "data:",
];

/// The input with one to four changes; some changes insert a part of another input.
pub(crate) fn vary(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.pick(&[&0_u8, &1, &b'"', &0x7F, &0x80, &0xFF]).to_owned(),
            2 => drop(bytes.drain(at..end)),
            3 => drop(bytes.splice(at..at, random.pick(WORDS).bytes())),
            4 => {
                let piece = bytes[at..end].repeat(1 + random.below(4));
                bytes.splice(at..at, piece);
            }
            5 => {
                let from = random.below(other.len() + 1);
                let to = (from + random.below(64)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ => members(&mut bytes, random),
        }
    }
    bytes
}

/// Removes or moves the text between two commas.
fn members(bytes: &mut Vec<u8>, random: &mut Random) {
    let commas: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] == b',').collect();
    if commas.len() > 1 {
        let first = random.below(commas.len() - 1);
        let member: Vec<u8> = bytes.drain(commas[first]..commas[first + 1]).collect();
        if random.below(2) == 0 {
            let at = commas[random.below(first + 1)];
            bytes.splice(at..at, member);
        }
    }
}

#[test]
fn variations_are_the_same_each_time() {
    let varied = || {
        let mut random = Random::new(7);
        (0..100).map(|_| vary(br#"{"a":1,"b":[2,3]}"#, b"other", &mut random)).collect::<Vec<_>>()
    };
    assert_eq!(varied(), varied());
    assert!(varied().iter().any(|it| it != br#"{"a":1,"b":[2,3]}"#));
}
