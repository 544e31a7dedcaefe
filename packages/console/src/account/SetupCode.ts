import { signal } from "@preact/signals"

/** The code of the link that makes the first account of a server; empty without one. */
export const setupCode = signal("")

/** Takes the code out of the address, where it would stay in the history and in what people copy. */
export const takeSetupCode = (): void => {
  const [, code] = /^#setup=([\w-]+)$/.exec(location.hash) ?? []
  if (code === undefined) return
  setupCode.value = code
  history.replaceState(null, "", location.pathname + location.search)
}
