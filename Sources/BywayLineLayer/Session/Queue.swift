/// A first-in, first-out queue with an index. It is an array whose free front is removed at intervals.
struct Queue<Element> {
  private var storage: [Element] = []
  private var head = 0

  var count: Int { storage.count - head }
  var isEmpty: Bool { count == 0 }

  subscript(index: Int) -> Element {
    get { storage[head + index] }
    set { storage[head + index] = newValue }
  }

  mutating func append(_ element: Element) {
    storage.append(element)
  }

  mutating func insert(_ element: Element, at index: Int) {
    storage.insert(element, at: head + index)
  }

  mutating func popFirst() -> Element? {
    guard head < storage.count else { return nil }
    let element = storage[head]
    head += 1
    if head == storage.count {
      storage.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 64, head * 2 >= storage.count {
      storage.removeFirst(head)
      head = 0
    }
    return element
  }
}

extension Queue: Sendable where Element: Sendable {}
