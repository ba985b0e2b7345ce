//! The description of one launch as a block of memory that a sitter can use without allocating.
//!
//! The writer lays out strings and tables of offsets; the reader maps the block privately, adds
//! its own base address to each offset, and has the pointer tables that `execve` wants.

use std::ffi::{CStr, CString};
use std::os::raw::c_char;

const MAGIC: u64 = 0x7065_7461_736f_7331;

/// Numbers at the start of the block. Offsets are from the start; zero means absent.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Header {
    magic: u64,
    program: u64,
    cwd: u64,
    argv: u64,
    envp: u64,
    mounts: u64,
    filter: u64,
    filter_len: u64,
    flags: u64,
    device: u64,
    inode: u64,
}

/// The launch gets a controlling terminal.
pub(crate) const FLAG_TTY: u64 = 1;
/// The mount table needs a user namespace of its own.
pub(crate) const FLAG_USERNS: u64 = 1 << 1;
/// The directory must be the one that was named by its device and number.
pub(crate) const FLAG_DIRECTORY: u64 = 1 << 2;
/// The program has no rights beyond its user's.
pub(crate) const FLAG_POWERLESS: u64 = 1 << 3;
/// The mount table only hides; a confining program arranges everything else.
pub(crate) const FLAG_COVER: u64 = 1 << 4;

/// What the writer is given.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) program: CString,
    pub(crate) cwd: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) envp: Vec<CString>,
    /// Pairs of a letter and a path; see `begin::arrange`.
    pub(crate) mounts: Vec<(CString, CString)>,
    /// Seccomp instructions, eight bytes each.
    pub(crate) filter: Vec<[u8; 8]>,
    pub(crate) flags: u64,
    /// The directory that must be at `cwd`: its device and number.
    pub(crate) directory: Option<(u64, u64)>,
}

impl Plan {
    /// Lays the block out.
    pub(crate) fn block(&self) -> Vec<u8> {
        let mut block = Block(vec![0; size_of::<Header>()]);
        let program = block.text(&self.program);
        let cwd = block.text(&self.cwd);
        let argv: Vec<u64> = self.argv.iter().map(|text| block.text(text)).collect();
        let envp: Vec<u64> = self.envp.iter().map(|text| block.text(text)).collect();
        let mounts: Vec<u64> = self
            .mounts
            .iter()
            .flat_map(|(from, to)| [from, to])
            .map(|text| block.text(text))
            .collect();
        let argv = block.table(&argv);
        let envp = block.table(&envp);
        let mounts = if mounts.is_empty() { 0 } else { block.table(&mounts) };
        let filter = if self.filter.is_empty() { 0 } else { block.rows(&self.filter) };
        let filters = self.filter.len() as u64;
        let named = if self.directory.is_some() { FLAG_DIRECTORY } else { 0 };
        let (flags, (device, inode)) = (self.flags | named, self.directory.unwrap_or_default());
        let numbers =
            [MAGIC, program, cwd, argv, envp, mounts, filter, filters, flags, device, inode];
        for (slot, number) in block.0.chunks_exact_mut(8).zip(numbers) {
            slot.copy_from_slice(&number.to_ne_bytes());
        }
        block.0
    }
}

struct Block(Vec<u8>);

impl Block {
    fn text(&mut self, text: &CStr) -> u64 {
        let at = self.0.len() as u64;
        self.0.extend_from_slice(text.to_bytes_with_nul());
        at
    }

    fn table(&mut self, offsets: &[u64]) -> u64 {
        self.align();
        let at = self.0.len() as u64;
        for offset in offsets.iter().chain([&0]) {
            self.0.extend_from_slice(&offset.to_ne_bytes());
        }
        at
    }

    fn rows(&mut self, rows: &[[u8; 8]]) -> u64 {
        self.align();
        let at = self.0.len() as u64;
        self.0.extend(rows.iter().flatten());
        at
    }

    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }
}

/// A block mapped into the reader, with its tables made into pointers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mapped {
    base: *mut u8,
    size: usize,
    header: Header,
}

impl Mapped {
    /// Checks and relocates a block.
    ///
    /// # Safety
    /// `base` must be the start of a private, writable mapping of `size` bytes that lives as
    /// long as the result and that nobody else writes.
    #[expect(unsafe_code, reason = "the block is plain memory shared with execve")]
    pub(crate) unsafe fn relocate(base: *mut u8, size: usize) -> Option<Self> {
        if size < size_of::<Header>() {
            return None;
        }
        // SAFETY: the mapping is page-aligned and at least as long as a header of plain numbers.
        let header =
            unsafe { base.cast::<[u8; size_of::<Header>()]>().cast::<Header>().read_unaligned() };
        if header.magic != MAGIC {
            return None;
        }
        let mapped = Self { base, size, header };
        for table in [header.argv, header.envp, header.mounts] {
            mapped.relocate_table(table)?;
        }
        Some(mapped)
    }

    #[expect(unsafe_code, reason = "offsets become pointers in place")]
    fn relocate_table(&self, table: u64) -> Option<()> {
        if table == 0 {
            return Some(());
        }
        let mut at = usize::try_from(table).ok()?;
        loop {
            if at.checked_add(8)? > self.size || !at.is_multiple_of(8) {
                return None;
            }
            // SAFETY: `at` is aligned and its eight bytes lie within the mapping, checked above.
            let slot = unsafe { self.base.add(at).cast::<[u8; 8]>() };
            // SAFETY: as above; the mapping is ours alone.
            let offset = u64::from_ne_bytes(unsafe { slot.read() });
            if offset == 0 {
                return Some(());
            }
            let pointer = self.pointer(offset)? as u64;
            // SAFETY: as above.
            unsafe { slot.write(pointer.to_ne_bytes()) };
            at += 8;
        }
    }

    #[expect(unsafe_code, reason = "an offset becomes a pointer")]
    fn pointer(&self, offset: u64) -> Option<*mut u8> {
        let offset = usize::try_from(offset).ok()?;
        // SAFETY: the offset is within the mapping.
        (offset < self.size).then(|| unsafe { self.base.add(offset) })
    }

    pub(crate) fn program(&self) -> Option<*const c_char> {
        self.pointer(self.header.program).map(|text| text.cast_const().cast())
    }

    pub(crate) fn cwd(&self) -> Option<*const c_char> {
        self.pointer(self.header.cwd).map(|text| text.cast_const().cast())
    }

    pub(crate) fn argv(&self) -> Option<*const *const c_char> {
        self.pointer(self.header.argv).map(|table| table.cast_const().cast())
    }

    pub(crate) fn envp(&self) -> Option<*const *const c_char> {
        self.pointer(self.header.envp).map(|table| table.cast_const().cast())
    }

    /// Pairs of a letter and a path, ended by a null pointer.
    pub(crate) fn mounts(&self) -> Option<*const *const c_char> {
        if self.header.mounts == 0 {
            return None;
        }
        self.pointer(self.header.mounts).map(|table| table.cast_const().cast())
    }

    /// The seccomp program and its number of instructions.
    pub(crate) fn filter(&self) -> Option<(*mut u8, u16)> {
        if self.header.filter == 0 {
            return None;
        }
        let count = u16::try_from(self.header.filter_len).ok()?;
        Some((self.pointer(self.header.filter)?, count))
    }

    /// The directory that must be the working one, where that matters.
    pub(crate) fn directory(&self) -> Option<(u64, u64)> {
        self.has(FLAG_DIRECTORY).then_some((self.header.device, self.header.inode))
    }

    pub(crate) fn has(&self, flag: u64) -> bool {
        self.header.flags & flag != 0
    }
}
