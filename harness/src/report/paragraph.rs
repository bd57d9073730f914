//! Text in lines that a terminal of common width shows whole.

/// The widest line that is ours to choose, in characters. Paths and lines to paste are never broken.
pub const WIDTH: usize = 100;

/// The words of `text` in lines of at most [`WIDTH`] characters, without an end of line after the last. `first` begins
/// the first line, `further` every other one. A word that is too long has a line of its own; line breaks in `text` stay.
pub fn wrapped(text: &str, first: &str, further: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = if lines.is_empty() { first.to_owned() } else { further.to_owned() };
        let mut width = line.chars().count();
        let mut is_empty = true;
        for word in paragraph.split_whitespace() {
            let letters = word.chars().count();
            if !is_empty && width + 1 + letters > WIDTH {
                lines.push(std::mem::replace(&mut line, further.to_owned()));
                width = further.chars().count();
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
                width += 1;
            }
            line.push_str(word);
            width += letters;
            is_empty = false;
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// `text` after a title, wrapped; further lines begin with `further`. `painted` is the title as it is shown: colours take
/// no width.
pub fn titled(title: &str, painted: &str, text: &str, further: &str) -> String {
    wrapped(text, &format!("{title} "), further).replacen(title, painted, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_and_no_longer_than_allowed() {
        let text = wrapped(&["C10,"; 60].join(" "), "- ", "  ");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with("- C10, ") && lines[1].starts_with("  C10, "), "{text}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{text}");
        assert!(lines[0].len() + " C10,".len() > WIDTH, "{text}");
    }

    #[test]
    fn long_words_and_line_breaks_stay_whole() {
        let long = "x".repeat(WIDTH + 1);
        assert_eq!(wrapped(&format!("a {long} b\nc"), "", "  "), format!("a\n  {long}\n  b\n  c"));
    }

    #[test]
    fn colours_take_no_width() {
        let text = "word ".repeat(30);
        let plain = titled("L3", "L3", &text, "   ");
        assert_eq!(titled("L3", "<L3>", &text, "   "), plain.replacen("L3", "<L3>", 1));
    }
}
