import type { Transport } from "@modelcontextprotocol/server"
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio"
import { serverFor } from "./McpDoor.js"
import { readMessage } from "./Messages.js"
import type { Caller } from "./Tool.js"

/** Serves the assistant that has started this process over its standard input and output. Gives the way to end it. */
export const stdioDoor = (caller: Caller, release: string, tell: (line: string) => void): (() => Promise<void>) => {
  const served = serveStdio((context) => serverFor(caller, release, context), {
    transport: tolerant(new StdioServerTransport()),
    onerror: ({ message }) => tell(message)
  })
  return () => served.close()
}

/** Reads each message before the package does. */
const tolerant = (wire: StdioServerTransport): Transport => {
  const self: Transport = {
    start: () => {
      // Boundary: what is no message any more is refused by the package, as it would have been before.
      wire.onmessage = (message) => self.onmessage?.(readMessage(message) as typeof message)
      wire.onerror = (error) => self.onerror?.(error)
      wire.onclose = () => self.onclose?.()
      return wire.start()
    },
    send: (message) => wire.send(message),
    close: () => wire.close()
  }
  return self
}
