import { createHash } from "node:crypto"
import { once } from "node:events"
import { flag } from "@reins/cli/Command"
import { target } from "@reins/cli/client/Profile"
import { clientAt, remoteCommand, sentenceOf, workspaceOption } from "@reins/cli/client/Remote"
import { tell } from "@reins/cli/terminal/Output"
import { ReinsConnectionError } from "@reins/client"
import packageJson from "../../../package.json" with { type: "json" }

/** `reins mcp` */
export const mcp = remoteCommand({
  takes: {
    unattended: flag("unattended", "Let the assistant answer agents and deliver by itself (you are asked)"),
    workspace: workspaceOption
  },
  details:
    "An assistant starts it and speaks the Model Context Protocol with it. It starts sessions, follows them, reads their\n" +
    "changes and delivers them. Sessions go on when the assistant ends.",
  examples: [
    ["reins mcp", "Serve an assistant with the tools of your server"],
    ["claude mcp add reins -- reins mcp", "Add them to Claude Code"]
  ],
  run: async ({ unattended, workspace }, connect, named) => {
    const { reins, url } = clientAt(named)
    const workspaceId = askOnce(async () => (await connect(workspace)).workspaceId)
    // An assistant starts its programs once, perhaps before the server is up. The tools are the same, and work once it is.
    await workspaceId().catch((error: unknown) => {
      if (!(error instanceof ReinsConnectionError)) throw error
      tell(`reins mcp: ${sentenceOf(error, named)} The tools work once a server answers there.`)
    })
    if (process.stdin.isTTY) tell("An assistant speaks with this command over its standard input. Ctrl-C ends it.")
    const { stdioDoor } = await import("../../doors/mcp/StdioDoor.js")
    const caller = {
      reins,
      workspaceId,
      keySpace: createHash("sha256")
        .update(target(url).apiKey ?? "")
        .digest("hex"),
      consoleUrl: `${url}/ui`,
      isUnattended: unattended
    }
    const close = stdioDoor(caller, packageJson.version, (line) => tell(`reins mcp: ${line}`))
    await Promise.race([once(process.stdin, "end"), once(process.stdin, "close")])
    await close()
  }
})

/** Asks until there is an answer, which stays. */
const askOnce = <A>(ask: () => Promise<A>): (() => Promise<A>) => {
  let known: Promise<A> | undefined
  return () => {
    known ??= ask().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}
