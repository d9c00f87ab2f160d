import Byway

/// Diagnoses of connections that an SSH server does not make to other places, for errors and for the doctor.
extension Diagnosis {
  /// - Parameter server: the SSH server, at the beginning of a sentence.
  static func forbids(_ server: String, _ host: String, _ port: Int) -> Diagnosis {
    Diagnosis(
      .forwardingProhibited,
      "\(server) does not forward to \(host):\(port): set AllowTcpForwarding yes in its sshd_config (and look at PermitOpen), and run "
        + "\"sudo systemctl reload ssh\" there.")
  }

  /// - Parameter server: the SSH server, at the beginning of a sentence.
  static func knowsNoSockets(_ server: String) -> Diagnosis {
    Diagnosis(
      .forwardingProhibited,
      "\(server) cannot connect to Unix sockets: use ?tcp=HOST:PORT or ?command=… in the link.")
  }

  /// - Parameter server: the SSH server, at the beginning of a sentence.
  static func cannotConnect(_ server: String, _ host: String, _ port: Int) -> Diagnosis {
    Diagnosis(
      .nobodyListens,
      "\(server) cannot connect to \(host):\(port) from there: "
        + "\(Advice.startGateway(listeningOn: "tcp://127.0.0.1:\(port)")), or correct tcp= in the link.")
  }
}
