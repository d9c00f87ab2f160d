extension Program {
  package static let ssh = Program(name: "ssh", package: "openssh-client", preferred: ["/usr/bin/ssh"])
  package static let sshKeygen = Program(name: "ssh-keygen", package: "openssh-client")
  package static let sshAgent = Program(name: "ssh-agent", package: "openssh-client")
  package static let sshAdd = Program(name: "ssh-add", package: "openssh-client")
  package static let setsid = Program(name: "setsid", package: "util-linux")
}
