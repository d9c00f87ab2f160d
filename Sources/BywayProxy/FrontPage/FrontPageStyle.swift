/// The style of the list of devices.
enum FrontPageStyle {
  static let text = """
    :root { color-scheme: light dark; --quiet: #555b66; --edge: #8885; --control: #868d9a; --good: #1d7a35; --bad: #c5372c }
    @media (prefers-color-scheme: dark) { :root { --quiet: #a9b0bd; --control: #727b8c; --good: #4fbf68; --bad: #ff7d72 } }
    [hidden] { display: none !important }
    body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 }
    main { max-width: 76rem; margin: 6vh auto; padding: 0 1.25rem }
    h2 { font-size: 1.1rem; margin-top: 2rem }
    h3 { font-size: 1rem; font-weight: 500; color: var(--quiet); margin-bottom: 0 }
    table { border-collapse: collapse; width: 100%; table-layout: fixed }
    th, td { text-align: left; vertical-align: top; padding: 0.5rem 1.25rem 0.5rem 0; border-bottom: 1px solid var(--edge);
      overflow-wrap: break-word; unicode-bidi: isolate }
    th:first-child { width: 26% }
    th:nth-child(2) { width: 27% }
    th:nth-child(4) { width: 15% }
    th:last-child, td:last-child { padding-right: 0 }
    thead th { color: var(--quiet); font-weight: 500 }
    tbody th { font-weight: inherit }
    tbody a { font-weight: 600 }
    small { display: block; color: var(--quiet); font-size: 0.85rem }
    td div small, .label { display: inline }
    code, pre { font: 0.9rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: break-word }
    pre { background: #8882; padding: 0.6rem 0.8rem; border-radius: 6px; white-space: pre-wrap }
    li { margin-bottom: 0.9rem }
    .use { color: var(--good); font-weight: 600; font-size: 0.85rem; white-space: nowrap }
    .state::before { content: ""; display: inline-block; width: 0.6em; height: 0.6em; border-radius: 50%; margin-right: 0.5em;
      background: #8888 }
    [data-state="up"] .state::before { background: var(--good) }
    [data-state="down"] .state::before, [data-state="interrupted"] .state::before,
    [data-state="unavailable"] .state::before { background: var(--bad) }
    .label { display: none }
    #search { display: flex; flex-wrap: wrap; gap: 0.5rem 0.75rem; align-items: center; margin-bottom: 1rem }
    #search input, #search select { font: inherit; color: inherit; background: Canvas; border: 1px solid var(--control);
      border-radius: 6px; padding: 0.2rem 0.5rem; min-height: 2rem; box-sizing: border-box }
    #find { flex: 0 1 20rem; min-width: 8rem }
    #found, #live { color: var(--quiet) }
    #live { color: var(--bad) }
    @media (max-width: 44rem) {
      main { margin: 1rem auto; padding: 0 1rem }
      table, tbody, tr, th, td { display: block; width: auto !important }
      thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
      th, td { border: 0; padding: 0.1rem 0 }
      tbody tr { padding: 0.7rem 0; border-bottom: 1px solid var(--edge) }
      td:last-child { color: var(--quiet); font-size: 0.85rem }
      .label { display: inline }
    }

    """
}
