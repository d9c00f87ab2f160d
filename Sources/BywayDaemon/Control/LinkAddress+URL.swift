import Byway

extension LinkAddress {
  /// The beginning of a client's URL for a bound address, without the options that name files; `unix:PATH` as it is.
  package var clientURL: String {
    switch (scheme, authority) {
    case ("tcp", let authority?): "http://\(authority)"
    case ("tls", let authority?): "https://\(authority)"
    default: text
    }
  }
}
