//! A table: columns side by side, wide cells wrapped; one line for each cell where the window is too
//! narrow for that.

use pulldown_cmark::Alignment;

use crate::line::{Line, Style};

const RULE: &str = " │ ";
/// A column is not made narrower than this.
const NARROWEST: usize = 8;

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
    alignments: Vec<Alignment>,
}

impl Table {
    /// With columns that are aligned like this.
    pub(super) fn aligned_as(alignments: Vec<Alignment>) -> Self {
        Self { rows: Vec::new(), alignments }
    }

    /// The next row begins.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// The next cell of the row.
    pub(super) fn cell(&mut self, cell: Line) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Its lines.
    pub(super) fn lines(&self, columns: usize) -> Vec<Line> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..count)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(Line::width).max())
            .map(Option::unwrap_or_default)
            .collect();
        let room = columns.saturating_sub(count.saturating_sub(1) * RULE.chars().count());
        match fitted(widths, room) {
            Some(widths) => self.aligned(&widths),
            None => self.listed(columns),
        }
    }

    /// Columns side by side; cells that are wider than theirs are wrapped.
    fn aligned(&self, widths: &[usize]) -> Vec<Line> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if number == 0 && row.iter().all(|cell| cell.width() == 0) {
                continue;
            }
            let wrapped = |(at, width): (usize, &usize)| {
                row.get(at).map(|cell| cell.wrapped(*width)).unwrap_or_default()
            };
            let cells: Vec<Vec<Line>> = widths.iter().enumerate().map(wrapped).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            lines.extend((0..height).map(|at| self.side_by_side(&cells, at, widths)));
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::of(Style::FAINT, &rules.join("─┼─")));
            }
        }
        lines
    }

    fn listed(&self, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let (head, body) = self.rows.split_first().map_or((&[][..], &[][..]), |(h, b)| (h, b));
        for (number, row) in body.iter().enumerate() {
            if number > 0 {
                lines.push(Line::of(Style::FAINT, "─"));
            }
            for (at, cell) in row.iter().enumerate() {
                let mut line = head.get(at).cloned().unwrap_or_default();
                line.push(Style::FAINT, ": ");
                line.extend(cell);
                lines.extend(line.wrapped(columns));
            }
        }
        lines
    }

    /// One line of a row.
    fn side_by_side(&self, cells: &[Vec<Line>], at: usize, widths: &[usize]) -> Line {
        let mut line = Line::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push(Style::FAINT, RULE);
            }
            let part = cell.get(at).cloned().unwrap_or_default();
            let space = width.saturating_sub(part.width());
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => space,
                Some(Alignment::Center) => space / 2,
                _ => 0,
            };
            line.push(Style::PLAIN, &" ".repeat(before));
            line.extend(&part);
            if column + 1 < widths.len() {
                line.push(Style::PLAIN, &" ".repeat(space - before));
            }
        }
        line
    }
}

/// The widths of columns in so much room: the widest give way first. None when even narrow columns
/// do not fit.
fn fitted(mut widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max().filter(|width| **width > NARROWEST)?;
        *widest -= 1;
    }
    Some(widths)
}
