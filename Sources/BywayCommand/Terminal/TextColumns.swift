import Byway
import BywayPrimitives

/// Rows of cells, two spaces apart.
enum TextColumns {
  static func lines(_ rows: [[String]]) -> String {
    let rows = rows.map { $0.map(\.visible) }
    let count = rows.map(\.count).max() ?? 0
    let widths = (0..<count).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (cell, width) in zip(row, widths) where width > 0 { line += cell.padded(width + 2) }
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}
