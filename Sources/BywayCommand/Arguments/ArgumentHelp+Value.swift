import ArgumentParser

extension ArgumentHelp {
  /// Help for an option with a value.
  /// - Parameters:
  ///   - name: the value in the synopsis: `--link-timeout <seconds>`.
  ///   - text: the value's meaning.
  static func value(_ name: String, _ text: String) -> ArgumentHelp { ArgumentHelp(text, valueName: name) }
}
