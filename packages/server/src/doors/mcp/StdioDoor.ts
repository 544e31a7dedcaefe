import type { Transport } from "@modelcontextprotocol/server"
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio"
import { serverFor } from "./McpDoor.js"
import { readMessage } from "./Messages.js"
import { lackOfTasks } from "./Tasks.js"
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
      wire.onmessage = (given) => {
        // Boundary: what is no message any more is refused by the package, as it would have been before.
        const message = readMessage(given) as typeof given
        const lacksTasks = lackOfTasks(message)
        if (lacksTasks === undefined) return self.onmessage?.(message)
        void wire.send(lacksTasks as typeof given).catch((error: Error) => self.onerror?.(error))
      }
      wire.onerror = (error) => self.onerror?.(error)
      wire.onclose = () => self.onclose?.()
      return wire.start()
    },
    send: (message) => wire.send(message),
    close: () => wire.close()
  }
  return self
}
