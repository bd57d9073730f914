//! The text of files that somebody else made, and never more of it than a person can mean: a device without an end is
//! answered by a sentence, and not by all of memory. It never knows what the text says.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

/// The longest line of a history, and the longest file that is read whole: 64 MiB. What a run leaves is a hundredth.
pub const LONGEST_BYTES: u64 = 64 << 20;

/// The lines of a text without their ends. The error is half a sentence: why a line cannot be read.
pub struct BoundedLines<R> {
    from: R,
    longest_bytes: u64,
}

impl<R: BufRead> BoundedLines<R> {
    /// The lines of `from`, each of at most [`LONGEST_BYTES`].
    pub fn new(from: R) -> Self {
        Self { from, longest_bytes: LONGEST_BYTES }
    }
}

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = Result<String, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        // One byte more than a line may have, and its end.
        match (&mut self.from).take(self.longest_bytes + 2).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error.to_string())),
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        if line.ends_with(b"\r") {
            line.pop();
        }
        Some(text(line, self.longest_bytes, "line"))
    }
}

/// The whole text of a file of at most [`LONGEST_BYTES`]. The error is half a sentence, without the file's name.
pub fn read_text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    text(bytes, LONGEST_BYTES, "file")
}

/// What was read as text, if it is not too much.
fn text(bytes: Vec<u8>, longest_bytes: u64, whole: &str) -> Result<String, String> {
    if bytes.len() as u64 > longest_bytes {
        return Err(format!("expected a {whole} of at most {longest_bytes} bytes, found a longer one"));
    }
    String::from_utf8(bytes).map_err(|_| "expected UTF-8, found other bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text in which none may have more than four bytes.
    fn lines(from: &[u8]) -> Vec<Result<String, String>> {
        BoundedLines { from, longest_bytes: 4 }.collect()
    }

    #[test]
    fn lines_are_without_their_ends() {
        let expected: Vec<_> = ["abcd", "", "e"].iter().map(|line| Ok((*line).to_owned())).collect();
        assert_eq!(lines(b"abcd\n\r\ne"), expected);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_without_an_end_is_refused_by_its_length() {
        let mut lines = BoundedLines { from: std::io::BufReader::new(std::io::repeat(b'x')), longest_bytes: 4 };
        assert_eq!(lines.next(), Some(Err("expected a line of at most 4 bytes, found a longer one".to_owned())));
    }

    #[test]
    fn other_bytes_than_text_are_refused() {
        assert_eq!(lines(&[0xff]), [Err("expected UTF-8, found other bytes".to_owned())]);
    }
}
