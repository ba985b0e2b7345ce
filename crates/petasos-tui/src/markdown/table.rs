//! A table: columns side by side where they fit, else one line for each cell.

use crate::line::{Line, Style};

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
}

impl Table {
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
        let count = self.rows.first().map_or(0, Vec::len);
        let widths: Vec<usize> = (0..count)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(Line::width).max())
            .map(Option::unwrap_or_default)
            .collect();
        let needed: usize = widths.iter().sum::<usize>() + count.saturating_sub(1) * 3;
        if needed <= columns { self.aligned(&widths) } else { self.listed(columns) }
    }

    fn aligned(&self, widths: &[usize]) -> Vec<Line> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = Line::new();
            for (at, width) in widths.iter().enumerate() {
                if at > 0 {
                    line.push(Style::FAINT, " │ ");
                }
                let cell = row.get(at).cloned().unwrap_or_default();
                let space = " ".repeat(width - cell.width());
                line.extend(&cell);
                if at + 1 < widths.len() {
                    line.push(Style::PLAIN, &space);
                }
            }
            lines.push(line);
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
}
