/// Suggestions for misspelt words.
package enum Spelling {
  /// Returns " Did you mean …? Known: …", with a leading space.
  package static func hint(for word: String, among known: [String]) -> String {
    let list = known.isEmpty ? " None are known." : " Known: \(known.joined(separator: ", "))."
    guard let nearest = nearest(to: word, among: known) else { return list }
    return " Did you mean \"\(nearest)\"?\(list)"
  }

  /// Returns the known word at the least edit distance, if that is small enough to be a slip.
  package static func nearest(to word: String, among known: [String]) -> String? {
    let ranked = known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, best.word.count / 2) ? best.word : nil
  }

  /// Returns the optimal string alignment: insertions, deletions, substitutions and swaps of neighbours count one each.
  private static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left.utf8)
    let right = Array(right.utf8)
    var rows = [Array(0...right.count)]
    for i in 0..<left.count {
      var row = [i + 1]
      for j in 0..<right.count {
        var cost = min(rows[i][j] + (left[i] == right[j] ? 0 : 1), row[j] + 1, rows[i][j + 1] + 1)
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { cost = min(cost, rows[i - 1][j - 1] + 1) }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
