import CPSL

/// The names below which anybody can have one, such as `com` and `co.uk`: no site may set cookies for all of them. From
/// libpsl, which has the list inside. A name at the top that the list does not have counts as one.
enum PublicSuffixes {
  /// - Parameter name: in lower case, other scripts as A-labels.
  static func contain(_ name: String) -> Bool {
    psl_is_public_suffix(psl_builtin(), name) != 0
  }

  /// Whether a host may set a cookie for a domain: it is in it, is not an address, and the domain no public suffix.
  static func permit(_ host: String, toSetCookiesFor domain: String) -> Bool {
    psl_is_cookie_domain_acceptable(psl_builtin(), host, domain) == 1
  }
}
