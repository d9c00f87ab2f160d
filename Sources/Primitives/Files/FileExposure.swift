/// A file that holds a secret, a key or passwords, and that others may read than those it is for.
package struct FileExposure: Sendable, Hashable {
  /// Whom a secret is for.
  package enum Audience: Sendable, Hashable {
    /// A user's own.
    case owner
    /// A daemon's too, which systemd makes a user for while it runs: it reads the file by its group.
    case group
  }

  package let audience: Audience
  package let permissions: UInt32

  /// `nil` where the file is as secret as it should be. What is no regular file, `/dev/null` for example, is none.
  package init?(_ status: FileStatus, for audience: Audience) {
    guard status.kind == .regular, status.permissions & Self.foreign(to: audience) != 0 else { return nil }
    self.audience = audience
    permissions = status.permissions
  }

  /// What others than those must not be allowed.
  private static func foreign(to audience: Audience) -> UInt32 {
    switch audience {
    case .owner: 0o077
    case .group: 0o007
    }
  }
}

extension FileExposure: CustomStringConvertible {
  /// Follows a path and a colon.
  package var description: String {
    let remedy =
      switch audience {
      case .owner: "run chmod 600 on it"
      case .group: "run chmod 600 on it, or chmod 640 to share it with its group"
      }
    return "others may read it (mode \(String(permissions, radix: 8))), so it is not used: \(remedy)"
  }
}
