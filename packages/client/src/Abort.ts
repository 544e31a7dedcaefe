interface Waiting {
  readonly all: Set<() => void>
  readonly listener: () => void
}

const waiting = new WeakMap<AbortSignal, Waiting>()

const listenTo = (signal: AbortSignal): Waiting => {
  const all = new Set<() => void>()
  const listener = () => {
    for (const run of [...all]) run()
  }
  const made = { all, listener }
  signal.addEventListener("abort", listener)
  waiting.set(signal, made)
  return made
}

/**
 * Runs something when the signal is aborted, and gives what takes that back. All calls that share a signal have one listener at it, because Node
 * warns of more than ten.
 */
export const whenAborted = (signal: AbortSignal | undefined, run: () => void): (() => void) => {
  if (signal === undefined) return () => {}
  const { all, listener } = waiting.get(signal) ?? listenTo(signal)
  const own = () => run()
  all.add(own)
  return () => {
    all.delete(own)
    if (all.size > 0) return
    signal.removeEventListener("abort", listener)
    // A later one may have begun another set.
    if (waiting.get(signal)?.all === all) waiting.delete(signal)
  }
}
