/// Why a text is not an authority.
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
  /// Half a sentence that says what to write.
  package var description: String {
    switch self {
    case .empty: "no host is named"
    case .userInformation: "leave out the user and password before the host"
    case .otherScript: "letters beyond ASCII are written as xn--…, as browsers do"
    case .percentEncoding: "a host has no percent-encoding"
    case .character: "a host has letters, digits, -, _ and dots only"
    case .label: "something stands before and between the dots of a name"
    case .length: "a name has at most 63 letters between dots, and 253 in all"
    case .number: "an address of IPv4 is four numbers up to 255, without zeros in front, and no name ends in a number"
    case .address: "an address of IPv6 stands in brackets, and a colon before the port"
    case .zone: "a zone means nothing to another machine"
    case .port: "a port is a number from 0 to 65535"
    case .portNotWanted: "a host is wanted here, without a port"
    }
  }
}
