/// The exposure of a file with a secret, such as a key or passwords: other users than intended may read it.
package struct FileExposure: Sendable, Hashable {
  /// The intended readers of a secret.
  package enum Audience: Sendable, Hashable {
    /// The owner of the file only.
    case owner
    /// The group of the file as well: systemd may create a user for a daemon while it runs, which reads the file by its group.
    case group
  }

  package let audience: Audience
  package let permissions: UInt32

  /// Returns `nil` if the file is as secret as it should be. Only regular files are checked, so `/dev/null` is not exposed.
  package init?(_ status: FileStatus, for audience: Audience) {
    guard status.kind == .regular, status.permissions & Self.foreign(to: audience) != 0 else { return nil }
    self.audience = audience
    permissions = status.permissions
  }

  /// Returns the permissions that others must not have.
  private static func foreign(to audience: Audience) -> UInt32 {
    switch audience {
    case .owner: 0o077
    case .group: 0o007
    }
  }
}

extension FileExposure: CustomStringConvertible {
  /// The text that follows a path and a colon.
  package var description: String {
    let remedy =
      switch audience {
      case .owner: "run chmod 600 on it"
      case .group: "run chmod 600 on it, or chmod 640 to share it with its group"
      }
    return "others may read it (mode \(String(permissions, radix: 8))), so it is not used: \(remedy)"
  }
}
