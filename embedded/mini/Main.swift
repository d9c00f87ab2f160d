import CMini

@_cdecl("mini_main")
func main(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
  let options = Options(arguments, count: Int(count))
  var relay = Relay(options)
  relay.printReady(options)
  relay.run()
}
