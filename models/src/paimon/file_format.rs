//! The formats of data files, told by the endings of their names.

use super::{FormatError, FormatResult};

/// How a data file's rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileFormat {
    /// Apache Parquet, the default.
    Parquet,
    /// Apache Avro.
    Avro,
}

impl FileFormat {
    /// The format that a data file's name ends in.
    pub fn of_file_name(file_name: &str) -> FormatResult<Self> {
        match file_name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("parquet") => Ok(Self::Parquet),
            Some("avro") => Ok(Self::Avro),
            Some("orc") => Err(FormatError::new(format!(
                "expected a data file .parquet or .avro, found {file_name:?}; ORC files are not read"
            ))),
            _ => Err(FormatError::new(format!("expected a data file .parquet or .avro, found {file_name:?}"))),
        }
    }

    /// The ending of its file names, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Avro => "avro",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_the_names_of_files() {
        for format in [FileFormat::Parquet, FileFormat::Avro] {
            let name = format!("data-1.{}", format.extension());
            assert_eq!(FileFormat::of_file_name(&name), Ok(format));
        }
        assert!(FileFormat::of_file_name("data-1.orc").unwrap_err().to_string().contains("ORC"));
        assert!(FileFormat::of_file_name("data-1").is_err());
    }
}
