import CBywayPSL

/// The public suffixes, such as `com` and `co.uk`, under which anyone can register names: no site may set cookies for all of
/// them. The list is part of libpsl. A top-level name that is not in the list counts as a public suffix.
enum PublicSuffixes {
  /// - Parameter name: a name in lower case, with other scripts as A-labels.
  static func contain(_ name: String) -> Bool {
    psl_is_public_suffix(psl_builtin(), name) != 0
  }

  /// Whether a host may set a cookie for a domain: the host is in the domain and is not an address, and the domain is not a
  /// public suffix.
  static func permit(_ host: String, toSetCookiesFor domain: String) -> Bool {
    psl_is_cookie_domain_acceptable(psl_builtin(), host, domain) == 1
  }
}
