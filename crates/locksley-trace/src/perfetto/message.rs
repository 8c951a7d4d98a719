//! Messages of protocol buffers, written field by field (<https://protobuf.dev>, "Encoding").

/// A message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// How a field is encoded: the low bits of its tag.
const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.tag(field, VARINT);
        self.varint(value);
        self
    }

    pub(super) fn fixed(mut self, field: u32, value: u64) -> Self {
        self.tag(field, FIXED_64);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.delimited(field, text.as_bytes())
    }

    pub(super) fn message(self, field: u32, body: impl FnOnce(Self) -> Self) -> Self {
        self.delimited(field, body(Self::default()).bytes())
    }

    fn delimited(mut self, field: u32, bytes: &[u8]) -> Self {
        self.tag(field, LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn tag(&mut self, field: u32, encoding: u32) {
        self.varint((field << 3 | encoding).into());
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// The examples of the specification.
    #[test]
    fn fields_are_encoded_as_specified() {
        let bytes = |message: Message| message.bytes().to_vec();
        assert_eq!(bytes(Message::default().number(1, 150)), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing");
        assert_eq!(bytes(text), [&[0x12, 0x07][..], b"testing"].concat());
        let nested = Message::default().message(3, |it| it.number(1, 150));
        assert_eq!(bytes(nested), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let fixed = Message::default().fixed(47, 1);
        assert_eq!(bytes(fixed), [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
