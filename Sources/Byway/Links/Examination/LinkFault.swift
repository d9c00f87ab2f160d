/// A fault of a link, by its name in JSON and in the table of docs/doctor.md.
package enum LinkFault: String, Sendable, CaseIterable {
  // Files of a link.
  case noFile = "no-file"
  case notASocket = "not-a-socket"
  case notADevice = "not-a-device"
  case noPermission = "no-permission"
  case nobodyListens = "nobody-listens"

  // Devices.
  case ambiguous
  case inUse = "in-use"
  case modemManager = "modem-manager"
  case loginHere = "login-here"
  case slowAdapter = "slow-adapter"

  // Lines.
  case notClearToSend = "not-clear-to-send"
  case silence
  case onlyNoise = "only-noise"
  case noisyLine = "noisy-line"
  case wrongRate = "wrong-rate"
  case loopBack = "loop-back"
  case localEcho = "local-echo"
  case terminalEcho = "terminal-echo"
  case bothDial = "both-dial"
  case foreignVersion = "foreign-version"
  case login
  case bootLoader = "boot-loader"
  case modem
  case ppp
  case webServer = "web-server"
  case otherProgram = "other-program"

  // The network.
  case unknownName = "unknown-name"
  case noNameService = "no-name-service"
  case noRoute = "no-route"
  case noAnswer = "no-answer"
  case wrongScheme = "wrong-scheme"
  case badSettings = "bad-settings"

  // SSH.
  case notSSH = "not-ssh"
  case serverBusy = "server-busy"
  case noKeyExchange = "no-key-exchange"
  case noCommonAlgorithm = "no-common-algorithm"
  case unknownHost = "unknown-host"
  case changedHostKey = "changed-host-key"
  case revokedHostKey = "revoked-host-key"
  case exposedKey = "exposed-key"
  case noKeyFile = "no-key-file"
  case lockedKey = "locked-key"
  case unusableKey = "unusable-key"
  case noAgent = "no-agent"
  case tooManyKeys = "too-many-keys"
  case passwordWanted = "password-wanted"
  case loginRefused = "login-refused"
  case forwardingProhibited = "forwarding-prohibited"

  // TLS.
  case notTLS = "not-tls"
  case ownCertificate = "own-certificate"
  case expired
  case notYetValid = "not-yet-valid"
  case wrongName = "wrong-name"
  case unknownAuthority = "unknown-authority"
  case clientCertificateWanted = "client-certificate-wanted"
  case clientCertificateRefused = "client-certificate-refused"
  case noCommonVersion = "no-common-version"
  case noCommonProtocol = "no-common-protocol"
  case handshakeFailed = "handshake-failed"

  // Programs.
  case noProgram = "no-program"
  case notExecutable = "not-executable"
  case programEnded = "program-ended"
  case chatter

  // Any medium.
  case notConnected = "not-connected"
  case unexplained

  // The far end.
  case noGateway = "no-gateway"
  case noOrigin = "no-origin"
}
