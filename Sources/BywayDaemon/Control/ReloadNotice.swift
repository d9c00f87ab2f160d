import BywayPrimitives

/// A daemon's notice that it has applied its configuration.
package struct ReloadNotice: Sendable, Hashable {
  /// The names of changed options that take effect at the next start only.
  let atStart: [String]

  init(atStart: [String]) {
    self.atStart = atStart
  }

  /// Reads a daemon's answer. An older version answers with nothing.
  package init(_ text: String) {
    atStart = JSON(parsing: text)?["atStart"]?.elements.compactMap(\.text) ?? []
  }

  var json: JSON { ["atStart": .array(atStart.map { .string($0) })] }

  /// Returns the sentences for the user.
  package func text(of daemon: String) -> String {
    let beginning = "\(daemon) has read its configuration again and applied it."
    guard !atStart.isEmpty else { return beginning }
    return "\(beginning) At the next start only, these changes take effect: \(atStart.joined(separator: ", "))."
  }
}
