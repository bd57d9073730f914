//! What all fuzz targets have around them: memory is bounded, and a panic of our own code is a finding even where a
//! reader catches the panics of a library.
//!
//! libFuzzer's own bound of a single allocation needs a sanitizer, which stable compilers do not have.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

/// No reader takes so much at once for the small files that the targets are given: a forged length would.
const MAX_AT_ONCE: usize = 192 << 20;
/// Nor so much altogether.
const MAX_ALTOGETHER: usize = 384 << 20;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which ends the process where too much is asked for.
struct Bounded;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

fn take(bytes: usize) {
    let before = TAKEN.fetch_add(bytes, Ordering::Relaxed);
    if bytes > MAX_AT_ONCE || before + bytes > MAX_ALTOGETHER {
        // What comes from here on is the report.
        TAKEN.store(0, Ordering::Relaxed);
        let _ =
            writeln!(std::io::stderr(), "expected a reader that takes little memory, found {before} + {bytes} bytes");
        std::process::abort();
    }
}

fn give_back(bytes: usize) {
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give_back(layout.size());
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Lets panics of libraries pass, as readers of Parquet catch them; what they do not catch ends the process anyway.
/// A panic of our own code ends it at once.
pub fn tolerate_panics_of_libraries() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let is_of_a_library = panic
            .location()
            .is_some_and(|place| place.file().contains("/registry/src/") || place.file().starts_with("/rustc/"));
        if !is_of_a_library {
            report(panic);
        }
    }));
}

/// The table that a schema file of the fixtures describes.
pub fn layout_of(schema_file: &[u8]) -> models::paimon::data_file::DataFileLayout {
    let schema = models::paimon::SchemaFile::decode(schema_file).expect("a schema of the fixtures");
    models::paimon::data_file::DataFileLayout::of(&schema)
}
