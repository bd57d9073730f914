//! Reads column types: `DECIMAL(10, 2)`, `ROW<a INT NOT NULL, b ARRAY<STRING>>`.
//!
//! The spellings are those of Paimon's schema files and SQL. Text may be hostile: types nest no deeper than
//! [`DEEPEST_TYPE`], so nothing that walks a type walks far.

use std::str::FromStr;
use std::sync::Arc;

use super::data_type::{DataType, FieldType, NestedField};

/// How many types may stand inside each other, the outermost included.
pub const DEEPEST_TYPE: usize = 32;

/// Paimon's types that this version cannot hold.
const UNHELD_TYPES: [&str; 6] = ["MULTISET", "VARIANT", "BLOB", "VECTOR", "GEOMETRY", "GEOGRAPHY"];

impl FromStr for DataType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut reader = TypeReader { text, rest: text };
        let data_type = reader.data_type(1)?;
        reader.end()?;
        Ok(data_type)
    }
}

impl FromStr for FieldType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut reader = TypeReader { text, rest: text };
        let field_type = reader.field_type(1)?;
        reader.end()?;
        Ok(field_type)
    }
}

/// Reads a type from left to right.
struct TypeReader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> TypeReader<'a> {
    fn unknown<T>(&self) -> Result<T, String> {
        Err(format!("expected a column type that this version can hold, found {:?}", self.text))
    }

    fn expected<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("expected {what} in type {:?}, found {:?}", self.text, self.rest))
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.trim().is_empty() { Ok(()) } else { self.unknown() }
    }

    /// The letters, digits and underscores that come next; may be none.
    fn word(&mut self) -> &'a str {
        let start = self.rest.trim_start();
        let end = start.find(|symbol: char| !symbol.is_alphanumeric() && symbol != '_').unwrap_or(start.len());
        let (word, rest) = start.split_at(end);
        self.rest = rest;
        word
    }

    /// Takes these words if all of them come next, in any case.
    fn takes_words(&mut self, words: &str) -> bool {
        let before = self.rest;
        let all = words.split(' ').all(|word| self.word().eq_ignore_ascii_case(word));
        if !all {
            self.rest = before;
        }
        all
    }

    /// Takes a symbol if it comes next.
    fn takes(&mut self, symbol: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn require(&mut self, symbol: char) -> Result<(), String> {
        if self.takes(symbol) { Ok(()) } else { self.expected(&format!("`{symbol}`")) }
    }

    fn field_type(&mut self, depth: usize) -> Result<FieldType, String> {
        let data_type = self.data_type(depth)?;
        let nullable = !self.takes_words("NOT NULL");
        if nullable {
            // NULL is the default and may be spelled out.
            self.takes_words("NULL");
        }
        Ok(FieldType { data_type, nullable })
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType, String> {
        if depth > DEEPEST_TYPE {
            let outermost: String = self.text.chars().take(40).collect();
            return Err(format!("expected types at most {DEEPEST_TYPE} deep inside each other, found {outermost:?}…"));
        }
        let name = self.word().to_ascii_uppercase();
        Ok(match name.as_str() {
            "BOOLEAN" => DataType::Boolean,
            "TINYINT" => DataType::TinyInt,
            "SMALLINT" => DataType::SmallInt,
            "INT" | "INTEGER" => DataType::Int,
            "BIGINT" => DataType::BigInt,
            "FLOAT" => DataType::Float,
            "DOUBLE" => {
                self.takes_words("PRECISION");
                DataType::Double
            }
            "DECIMAL" | "DEC" | "NUMERIC" => self.decimal()?,
            "CHAR" => DataType::Char(self.length()?),
            "VARCHAR" => DataType::VarChar(self.length()?),
            "STRING" => DataType::STRING,
            "BINARY" => DataType::Binary(self.length()?),
            "VARBINARY" => DataType::VarBinary(self.length()?),
            "BYTES" => DataType::BYTES,
            "DATE" => DataType::Date,
            "TIME" => {
                let precision = self.precision(0)?;
                self.takes_words("WITHOUT TIME ZONE");
                DataType::Time(precision)
            }
            "TIMESTAMP" => {
                let precision = self.precision(6)?;
                if self.takes_words("WITH LOCAL TIME ZONE") {
                    DataType::TimestampLtz(precision)
                } else {
                    self.takes_words("WITHOUT TIME ZONE");
                    DataType::Timestamp(precision)
                }
            }
            "TIMESTAMP_LTZ" => DataType::TimestampLtz(self.precision(6)?),
            "ARRAY" => {
                self.require('<')?;
                let element = self.field_type(depth + 1)?;
                self.require('>')?;
                DataType::Array(Arc::new(element))
            }
            "MAP" => {
                self.require('<')?;
                let key = self.field_type(depth + 1)?;
                self.require(',')?;
                let value = self.field_type(depth + 1)?;
                self.require('>')?;
                DataType::Map(Arc::new((key, value)))
            }
            "ROW" => DataType::Row(Arc::from(self.row_fields(depth)?)),
            unheld if UNHELD_TYPES.contains(&unheld) => {
                let text = self.text;
                return Err(format!("expected a column type that this version can hold, found {unheld} in {text:?}"));
            }
            _ => return self.unknown(),
        })
    }

    fn row_fields(&mut self, depth: usize) -> Result<Vec<NestedField>, String> {
        self.require('<')?;
        let mut fields: Vec<NestedField> = Vec::new();
        loop {
            let name = self.field_name()?;
            if fields.iter().any(|other| other.name == name) {
                return Err(format!("expected field names once each in type {:?}, found `{name}` twice", self.text));
            }
            let field_type = self.field_type(depth + 1)?;
            // Only a table gives fields their ids.
            fields.push(NestedField { id: i32::try_from(fields.len()).unwrap_or(i32::MAX), name, field_type });
            if !self.takes(',') {
                break;
            }
        }
        self.require('>')?;
        Ok(fields)
    }

    /// A field's name, between backticks (a backtick is then written twice) or plain.
    fn field_name(&mut self) -> Result<String, String> {
        if !self.takes('`') {
            let name = self.word();
            return if name.is_empty() { self.expected("a field's name") } else { Ok(name.to_owned()) };
        }
        let mut name = String::new();
        loop {
            let Some((part, rest)) = self.rest.split_once('`') else { return self.expected("a closing backtick") };
            name.push_str(part);
            self.rest = rest;
            match self.rest.strip_prefix('`') {
                Some(rest) => {
                    name.push('`');
                    self.rest = rest;
                }
                None if name.is_empty() => return self.expected("a field's name"),
                None => return Ok(name),
            }
        }
    }

    /// The numbers between parentheses, at most this many; none where there are no parentheses.
    fn numbers(&mut self, most: usize) -> Result<Vec<u32>, String> {
        let mut numbers = Vec::new();
        if !self.takes('(') {
            return Ok(numbers);
        }
        loop {
            match self.word().parse() {
                Ok(number) if numbers.len() < most => numbers.push(number),
                Ok(_) => return Err(format!("expected at most {most} numbers in type {:?}, found more", self.text)),
                Err(_) => return Err(format!("expected numbers between the parentheses of type {:?}", self.text)),
            }
            if !self.takes(',') {
                break;
            }
        }
        self.require(')')?;
        Ok(numbers)
    }

    fn length(&mut self) -> Result<u32, String> {
        match self.numbers(1)?.first() {
            None => Ok(1),
            Some(length) if i32::try_from(*length).is_ok() => Ok(*length),
            Some(length) => {
                Err(format!("expected a length of at most {} in type {:?}, found {length}", i32::MAX, self.text))
            }
        }
    }

    fn precision(&mut self, default: u8) -> Result<u8, String> {
        match self.numbers(1)?.first() {
            None => Ok(default),
            Some(number @ 0..=9) => Ok(*number as u8),
            Some(number) => Err(format!("expected a precision of at most 9 in type {:?}, found {number}", self.text)),
        }
    }

    fn decimal(&mut self) -> Result<DataType, String> {
        let numbers = self.numbers(2)?;
        let (precision, scale) = (numbers.first().copied().unwrap_or(10), numbers.get(1).copied().unwrap_or(0));
        if (1..=38).contains(&precision) && scale <= precision {
            Ok(DataType::Decimal(precision as u8, scale as u8))
        } else {
            Err(format!("expected DECIMAL(1..38, 0..precision), found {:?}", self.text))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn types_are_spelled_as_they_are_read() {
        for text in [
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INT",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(10, 2)",
            "CHAR(3)",
            "VARCHAR(20)",
            "STRING",
            "BINARY(4)",
            "VARBINARY(9)",
            "BYTES",
            "DATE",
            "TIME(0)",
            "TIMESTAMP(6)",
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
            "ARRAY<INT NOT NULL>",
            "MAP<STRING NOT NULL, ARRAY<DECIMAL(10, 2)> NOT NULL>",
            "ROW<`a` INT, `b c` ARRAY<STRING>, `d``e` ROW<`f` TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL>>",
        ] {
            assert_eq!(text.parse::<DataType>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_spellings_are_understood() {
        for (text, spelled) in [
            ("integer", "INT"),
            ("Double Precision", "DOUBLE"),
            ("NUMERIC", "DECIMAL(10, 0)"),
            ("CHAR", "CHAR(1)"),
            ("TIME WITHOUT TIME ZONE", "TIME(0)"),
            ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)"),
            ("timestamp_ltz(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
            ("map < string , bigint null >", "MAP<STRING, BIGINT>"),
            ("ROW<x INT, label STRING>", "ROW<`x` INT, `label` STRING>"),
        ] {
            assert_eq!(text.parse::<DataType>().unwrap().to_string(), spelled);
        }
    }

    #[test]
    fn unknown_types_are_refused_by_name() {
        for text in [
            "",
            "GEOMETRY",
            "MULTISET<INT>",
            "VARIANT",
            "BLOB",
            "VECTOR<FLOAT, 3>",
            "INT UNSIGNED",
            "INT(3)",
            "DECIMAL(39, 0)",
            "DECIMAL(3, 2, 1)",
            "TIMESTAMP(10)",
            "VARCHAR(x)",
            "VARCHAR(4294967295)",
            "MAP<INT>",
            "ARRAY<INT",
            "ARRAY<INT>>",
            "ROW<>",
            "ROW<`a INT>",
            "ROW<`` INT>",
            "ROW<a INT, a INT>",
            "ARRAY<VARIANT>",
        ] {
            let error = text.parse::<DataType>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn types_are_at_most_32_deep() {
        let deep = |depth: usize| format!("{}INT{}", "ARRAY<".repeat(depth - 1), ">".repeat(depth - 1));
        assert!(deep(32).parse::<DataType>().is_ok());
        assert!(deep(33).parse::<DataType>().unwrap_err().contains("at most 32"));
        assert!("ROW<a ".repeat(1_000_000).parse::<DataType>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_type_or_an_error(text in "(ARRAY|ROW|MAP|INT|NOT NULL|`|<|>|,|\\(|\\)|[a-z]| |ü){0,12}") {
            if let Ok(data_type) = text.parse::<DataType>() {
                prop_assert_eq!(data_type.to_string().parse::<DataType>().unwrap(), data_type);
            }
        }
    }
}
