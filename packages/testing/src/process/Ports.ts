import { createServer } from "node:net"

/**
 * A port of 127.0.0.1 for a server that is killed and comes back. It lies outside of the range that the system gives to outgoing
 * connections, one of which could else take it meanwhile.
 */
export const steadyPort = async (): Promise<number> => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (await isFree(port)) return port
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)))
  })
