/// The reason why a text is not an authority.
package enum AuthorityFlaw: Error, Sendable, Hashable, CaseIterable {
  case empty
  case userInformation
  case otherScript
  case percentEncoding
  case character
  case label
  case length
  case number
  case address
  case zone
  case port
  case portNotWanted
}

extension AuthorityFlaw: CustomStringConvertible {
  /// A clause that says what to write.
  package var description: String {
    switch self {
    case .empty: "the host is missing"
    case .userInformation: "leave out the user and password before the host"
    case .otherScript: "letters outside ASCII must be written as xn--…, as browsers do"
    case .percentEncoding: "percent-encoding is not allowed in a host"
    case .character: "a host may only have letters, digits, -, _ and dots"
    case .label: "a name must not begin with a dot or have two in a row"
    case .length: "a name has at most 63 letters between dots, and 253 in all"
    case .number: "an IPv4 address is four numbers up to 255 without leading zeros, and a name must not end in a number"
    case .address: "an IPv6 address must be in brackets, with a colon before the port"
    case .zone: "leave out the zone, which means nothing to another machine"
    case .port: "a port is a number from 1 to 65535"
    case .portNotWanted: "write the host without a port"
    }
  }
}
