import CMini

private func print(_ text: StaticString) {
  var start = text.utf8Start
  var left = text.utf8CodeUnitCount
  while left > 0 {
    let count = mini_write(1, start, left)
    guard count > 0 else { mini_exit(ExitStatus.cannotWrite.rawValue) }
    start += count
    left -= count
  }
}

func printHelp() -> Never {
  print(
    """
    byway-mini passes the bytes of a link on to a server on this machine, for boards with little memory.

    USAGE: byway-mini --link LINK --to TARGET [--name NAME] [--idle SECONDS]

      --link serial:/dev/ttyS0?baud=115200   a serial line; also parity=none|even|odd, stopbits=1|2, flow=none|rtscts
      --link stdio:                          standard input and output
      --link unix:/run/byway.sock?mode=0660  a Unix socket; each connection is one to the target
      --link tcp://127.0.0.1:7000            a port; ?insecure=yes allows addresses that other machines reach
      --link 'tcp://192.0.2.1:7000?open=dial&insecure=yes' --name printer
                                             dials byway proxy --hub 'tcp://…?http=1.1', also with unix:
      --to tcp://127.0.0.1:80                the server, by its address
      --to unix:/run/app.sock                the server, by its socket
      --idle SECONDS                         closes a connection that carried no bytes for so long (default: 300)
      --version                              prints the version

    The other end is a proxy with http=1.1 at its link: byway proxy --link 'serial:/dev/ttyUSB0?http=1.1' --listen 8080

    """)
  mini_exit(ExitStatus.success.rawValue)
}

func printVersion() -> Never {
  var text = Message()
  text.append("byway-mini ")
  text.append(Text(mini_release()))
  mini_exit(text.write(to: 1) ? ExitStatus.success.rawValue : ExitStatus.cannotWrite.rawValue)
}
