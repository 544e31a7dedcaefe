/**
 * Takes Ctrl-C for this command while it works: what the program did with it until then, which is to end, comes back with `release`. The
 * handler is told how often it was pressed.
 */
export const takeInterrupts = (
  handle: (times: number) => void
): { readonly press: () => void; release: () => void } => {
  const before = process.listeners("SIGINT")
  let times = 0
  const press = () => handle(++times)
  process.removeAllListeners("SIGINT")
  process.on("SIGINT", press)
  return {
    press,
    release: () => {
      process.off("SIGINT", press)
      for (const listener of before) process.on("SIGINT", listener)
    }
  }
}
