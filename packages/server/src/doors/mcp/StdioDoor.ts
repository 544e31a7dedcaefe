import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { serverFor } from "./McpDoor.js"
import type { Caller } from "./Tool.js"

/** Serves the assistant that has started this process over its standard input and output. Gives the way to end it. */
export const stdioDoor = (caller: Caller, release: string, tell: (line: string) => void): (() => Promise<void>) => {
  const served = serveStdio((context) => serverFor(caller, release, context), {
    onerror: ({ message }) => tell(message)
  })
  return () => served.close()
}
