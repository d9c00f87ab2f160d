import Glibc

/// What this process was given to know.
package enum Environment {
  /// `nil` where there is no variable of that name.
  package static subscript(name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The same, and nobody who asks later finds it, nor a child. To be called before other threads read the environment.
  package static func take(_ name: String) -> String? {
    let value = self[name]
    unsetenv(name)
    return value
  }
}
