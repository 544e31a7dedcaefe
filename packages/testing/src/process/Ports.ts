import { createServer } from "node:net"

/**
 * A port of 127.0.0.1 for a server that is killed and started again. It lies outside of the range for outgoing connections, because one of
 * those could take the port meanwhile.
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
