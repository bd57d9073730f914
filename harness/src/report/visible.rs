//! Text of foreign files as a terminal may show it: whatever could command the terminal, hide or turn round what stands
//! beside it is escaped.
//!
//! What the text means is not known here.

use std::fmt::Write;

/// Whether a terminal would not just show the character: control characters of both sets, marks that change the
/// direction of text, separators of lines, and marks without any width that begin or break words.
fn commands(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text for people, in one line: such characters as Rust spells them.
pub fn visible(text: &str) -> String {
    escaped(text, commands, |shown, character| shown.extend(character.escape_unicode()))
}

/// A JSON text with the same meaning, which a terminal may show. Its own line breaks stay: within a value there are
/// none, and no other such character is part of JSON's own signs.
pub fn visible_json(text: &str) -> String {
    let in_a_value = |character| commands(character) && !matches!(character, '\n' | '\r' | '\t');
    // All of them have four digits.
    escaped(text, in_a_value, |shown, character| {
        let _ = write!(shown, "\\u{:04x}", u32::from(character));
    })
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' if is_escaped(character) => shown.extend(character.escape_default()),
            _ if is_escaped(character) => escape(&mut shown, character),
            _ => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: [char; 10] =
        ['\0', '\u{7}', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{feff}'];

    #[test]
    fn nothing_that_commands_a_terminal_is_shown() {
        for character in COMMANDS {
            let text = visible(&format!("a{character}b"));
            assert_eq!(text, format!("a\\u{{{:x}}}b", u32::from(character)));
        }
        assert_eq!(visible("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(visible("größer 日本 👩\u{200d}🚀"), "größer 日本 👩\u{200d}🚀", "other text stays");
    }

    #[test]
    fn json_keeps_its_meaning() {
        for character in COMMANDS {
            let value = serde_json::json!({ format!("k{character}"): format!("v{character}\n") });
            let text = visible_json(&serde_json::to_string_pretty(&value).unwrap());
            assert!(!text.contains(|shown| shown != '\n' && commands(shown)), "{text:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }
}
