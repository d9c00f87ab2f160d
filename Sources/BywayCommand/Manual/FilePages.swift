/// The manual pages of files that users write.
enum FilePages {
  static let all = [configuration, links, stub]

  private static let configuration = ManualPage(
    "byway.conf", section: 5, abstract: "configuration file of byway gateway and byway proxy",
    [
      .heading("Description"),
      .text(
        """
        byway gateway --config FILE and byway proxy --config FILE read their long options from a file of "name = value" lines. Names are those of the \
        options without their dashes, flags are yes or no, values are written without quotation marks, and # begins a comment line. \
        Options that may be repeated can be on several lines. An option on the command line overrides the same option in the file.
        A daemon with several gateways or proxies has a section for each, which begins with [gateway NAME] or [proxy NAME]. \
        Options before the first section apply to each of them, unless the section overrides them; options of the whole process can \
        be set only there. byway check FILE reports what is wrong with a file.
        """), .heading("Reload"),
      .text(
        """
        SIGHUP or byway reload make a daemon change to the current content of its file, and read again the files that it names. \
        Running requests end as they began. If the file has an error, or a part of it cannot be opened, all of the old one stays in force.
        A restart is needed for max-connections, metrics, metrics-anywhere, access-log, access-log-format and those of the inspector, for other options of a \
        link with open=listen, and for another spelling of an address that stays.
        """), .heading("Example"),
      .example(
        """
        # the printer in the hall
        link = tcp://127.0.0.1:7000
        link = unix:/run/byway.sock
        origin = http://127.0.0.1:631
        allow = 192.168.7.2:80
        forwarded = yes
        drain = 5
        """),
      .example(
        """
        # two devices at this desk
        log-level = notice

        [proxy printer]
        link = serial:usb:0403:6001
        listen = 127.0.0.1:8080

        [proxy camera]
        link = ssh://pi/run/byway.sock
        listen = 127.0.0.1:8081
        """), .heading("See also"), .text("byway-gateway(1), byway-proxy(1), byway-check(1), byway-status(1)"),
    ])

  private static let links = ManualPage(
    "byway-links", section: 5, abstract: "names of links",
    [
      .heading("Description"),
      .text(
        """
        Lines of "name = address" give names to links; # begins a comment line. A name has letters, digits, -, _ and dots, and \
        can be used wherever --link takes an address, with further options behind it: --link 'printer?http=1.1'. The \
        environment variable BYWAY_LINK has the link for commands without one, as a name or an address.
        Names in the user's file override those in the machine's. Neither may be writable by others, because an address can name \
        a command to run. byway links lists what is in both.
        """), .heading("Files"),
      .item("~/.config/byway/links", "The user's file; below $XDG_CONFIG_HOME if that is set."),
      .item("/etc/byway/links", "The machine's file."), .heading("Example"),
      .example(
        """
        printer = serial:usb:0403:6001?baud=921600
        docker = ssh://build.example/run/docker.sock?http=1.1
        """), .heading("See also"), .text("byway-links(1), byway-ports(1)"),
    ])

  private static let stub = ManualPage(
    "byway-stub", section: 5, abstract: "answers in place of an origin",
    [
      .heading("Description"),
      .text(
        """
        byway proxy --stub FILE and byway gateway --stub FILE answer requests by the rules of a file. A rule begins with ###, \
        a method or *, and a path; with a host in front of the path it is for that host only, with * at its end for all paths \
        that begin like this, and with a query for that query only. The answer follows below, as curl -i prints it. The first rule \
        that matches answers, and requests that no rule matches are forwarded.
        A body of "< NAME" is read from that file, in the same folder. In a body written by hand, the last line's end and empty lines \
        after it do not count; one with a Content-Length that fits it is exactly that long; and one below a head whose lines end \
        in CR LF, as curl prints them, keeps its last line's end.
        """), .heading("Options of a rule"), .item("delay=300ms, delay=2s", "Wait before the answer."),
      .item("rate=BYTES", "Send this many bytes a second."),
      .item(
        "fail=CODE",
        """
        Fail as linkUnavailable, linkLost, protocolViolation, originUnavailable, originUntrusted, originLost, \
        incompleteResponse, timedOut, forbidden or refused.
        """), .heading("Example"),
      .example(
        """
        # What the device says while it does not exist.
        ### GET /status delay=300ms
        HTTP/1.1 200
        content-type: application/json

        {"uptime": 12}

        ### GET device/firmware/* rate=11520
        HTTP/1.1 200

        < firmware.bin

        ### * /gone fail=linkLost
        """), .heading("See also"), .text("byway-proxy(1), byway-gateway(1)"),
    ])
}
