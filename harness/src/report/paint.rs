//! Colours, where they are wanted.

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Whether to paint.
    pub on: bool,
}

impl Paint {
    /// Leaves all text as it is.
    pub const OFF: Paint = Paint { on: false };

    /// For what is good.
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    /// For what is bad.
    pub fn red(self, text: &str) -> String {
        self.with("31;1", text)
    }

    /// For what is open.
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    /// For headings.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// For what matters less.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
