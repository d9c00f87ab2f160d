/// All scripts, in the order of the test.
package struct Catalogue: Sendable {
  package var openings: [Opening] = []
  package var scripts: [Script] = []

  package init(_ texts: [String]) throws(ScriptError) {
    for text in texts {
      let reader = try ScriptReader(text)
      openings += reader.openings
      scripts += reader.scripts
    }
  }

  /// Returns the scripts that come with Byway. Those for a dialer that has never received a HELLO come first, because it cannot be made
  /// to forget one.
  package static func standard() throws(ScriptError) -> Catalogue {
    try Catalogue(
      [
        PackageResources.openings_txt, PackageResources.dialer_txt, PackageResources.listener_txt,
        PackageResources.open_txt, PackageResources.input_txt, PackageResources.timers_txt, PackageResources.line_txt,
        PackageResources.correction_txt,
      ].map { String(decoding: $0, as: UTF8.self) })
  }

  func scripts(for options: Conformance.Options) -> [Script] {
    scripts.filter { script in
      script.roles.contains(options.role)
        && (options.only.isEmpty || "§\(script.section) \(script.name)".contains(options.only))
    }
  }
}

extension Conformance.Options {
  /// - Parameter isEcho: whether the end under test returns what it receives.
  func reasonToSkip(_ script: Script, isEcho: Bool) -> String? {
    if isQuick, script.isLong { return "long" }
    let missing = script.needs.subtracting(means)
    if missing.contains(.cut) { return "this line cannot be unplugged" }
    if missing.contains(.start) { return "the end under test is not restarted" }
    if missing.contains(.owner) { return "the session's owner is not told what to do" }
    if missing.contains(.echo), !isEcho { return "the end does not return what it receives" }
    return nil
  }
}

extension TestPeer {
  /// Whether the next script can use this session as a new one.
  var canGoOn: Bool { phase == .open && sentPieces == 0 && !isMuted }
}
