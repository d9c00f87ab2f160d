import BywayLibC

/// The environment variables of this process.
package enum Environment {
  /// Returns `nil` if there is no variable of that name.
  package static subscript(name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Returns a variable and removes it, so that later calls and child processes do not find it. Call it before other threads read
  /// the environment.
  package static func take(_ name: String) -> String? {
    let value = self[name]
    unsetenv(name)
    return value
  }
}
