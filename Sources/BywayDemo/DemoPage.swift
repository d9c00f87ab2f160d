/// The page that the demo's origin serves. It is short, as all of it crosses the line.
enum DemoPage {
  static let html = """
    <!doctype html>
    <html lang="en">
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Byway</title>
    <link rel="icon" href="data:,">
    <style>
      :root { color-scheme: light dark; --faint: #8886; --accent: #0a7ea4; }
      body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
      h1 { font-size: 1.5rem; margin: 0; }
      .way { font-family: ui-monospace, monospace; font-size: .85rem; overflow-x: auto; white-space: pre;
        border: 1px solid var(--faint); border-radius: .5rem; padding: .75rem 1rem; margin-bottom: 1rem; }
      section { display: grid; grid-template-columns: 10rem 1fr; gap: .25rem 1rem; align-items: baseline;
        border-top: 1px solid var(--faint); padding: .75rem 0; }
      output { font-family: ui-monospace, monospace; font-size: .9rem; overflow-wrap: anywhere; }
      button, input { font: inherit; }
      progress { width: 100%; accent-color: var(--accent); }
      kbd { border: 1px solid var(--faint); border-radius: .25rem; padding: 0 .35rem; }
      li { margin: .35rem 0; }
    </style>
    <h1>This page came over a bad serial line</h1>
    <p>115200 baud: 11 KB in a second. One bit in 100,000 is wrong, and every five seconds a boot log writes into it. The
      service at its end is a Swift function, without a port and without a network.</p>
    <div class="way">browser ─ HTTP/1.1 ─► proxy ═ HTTP/2 on the line ═► gateway ─► function</div>
    <section><b>This page</b><output id="page">…</output></section>
    <section><b>A request</b><output id="status">…</output></section>
    <section><b>Server-sent events</b><output id="events">waiting for the first</output></section>
    <section><b>Round trips</b><div><button id="race">50 at once</button> <output id="raced"></output></div></section>
    <section><b>Download</b>
      <div><button id="big">200 KiB</button> <output id="bigged"></output><progress id="bar" value="0" hidden></progress></div>
    </section>
    <section><b>Upload</b><div><input type="file" id="file"> <output id="uploaded"></output></div></section>
    <h2>What to try</h2>
    <ul>
      <li>Start the download, and see how long a request takes meanwhile: small answers overtake large ones.</li>
      <li><kbd>p</kbd> in the terminal pulls the cable. Everything here stands still. <kbd>p</kbd> again, and it goes on where
        it was, even after 20 seconds. After 30 the link counts as lost: then requests fail, and say why.</li>
      <li><kbd>e</kbd> makes more errors: 10 times, 100 times as many. It gets slower, but never wrong: the bytes of the download
        are all checked here.</li>
    </ul>
    <script>
      const $ = id => document.getElementById(id)
      const since = start => (performance.now() - start) / 1000
      const kib = bytes => (bytes / 1024).toFixed(1) + " KiB"
      const fail = id => e => $(id).textContent = "failed: " + e.message
      const get = async (path, options) => {
        const answer = await fetch(path, options)
        if (!answer.ok) throw new Error((await answer.json()).title)
        return answer
      }

      addEventListener("load", () => {
        const page = performance.getEntriesByType("navigation")[0]
        $("page").textContent = kib(page.encodedBodySize) + " in " + Math.round(page.responseEnd) + " ms"
      })

      const ask = async () => {
        const start = performance.now()
        try {
          await (await get("/status")).text()
          $("status").textContent = Math.round(since(start) * 1000) + " ms"
        } catch (e) { fail("status")(e) }
        if ($("big").disabled) setTimeout(ask, 500)
      }
      ask()

      const listen = () => {
        const events = new EventSource("/events?every=2000")
        events.onmessage = e => $("events").textContent = e.data + " at " + new Date().toLocaleTimeString()
        events.onerror = () => {
          $("events").textContent = "the link is down; trying again"
          // A browser itself does so after a lost connection, but not after an answer of 503.
          events.close()
          setTimeout(listen, 2000)
        }
      }
      listen()

      $("race").onclick = async () => {
        const start = performance.now()
        await Promise.all(Array.from({ length: 50 }, () => get("/status").then(r => r.text()))).then(
          () => $("raced").textContent = since(start).toFixed(2) + " s for all of them", fail("raced"))
      }

      $("big").onclick = async () => {
        const start = performance.now(), total = 200 << 10
        $("big").disabled = true
        $("bar").hidden = false
        $("bar").max = total
        ask()
        try {
          const reader = (await get("/big?bytes=" + total)).body.getReader()
          let bytes = 0, wrong = 0
          for (;;) {
            const { done, value } = await reader.read()
            if (done) break
            for (const byte of value) {
              const i = bytes++ & 65535
              if (byte !== (i * 31 + (i >> 8) & 255)) wrong++
            }
            $("bar").value = bytes
            $("bigged").textContent = kib(bytes) + ", " + kib(bytes / since(start)) + "/s, " + wrong + " bytes wrong"
          }
        } catch (e) { fail("bigged")(e) }
        $("big").disabled = false
      }

      $("file").onchange = async () => {
        const file = $("file").files[0]
        if (!file) return
        $("uploaded").textContent = "sending " + kib(file.size)
        await get("/upload", { method: "PUT", body: file }).then(r => r.text()).then(
          text => $("uploaded").textContent = text, fail("uploaded"))
      }
    </script>
    </html>

    """
}
