import { createHash } from "node:crypto"
import { once } from "node:events"
import packageJson from "../../../package.json" with { type: "json" }
import { flag } from "../Command.js"
import { tell } from "../terminal/Output.js"
import { target } from "./Profile.js"
import { remoteCommand, workspaceOption } from "./Remote.js"

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
  run: async ({ unattended, workspace }, connect) => {
    const { reins, url, workspaceId } = await connect(workspace)
    if (process.stdin.isTTY) tell("An assistant speaks with this command over its standard input. Ctrl-C ends it.")
    const { stdioDoor } = await import("../../doors/mcp/StdioDoor.js")
    const caller = {
      reins,
      workspaceId: async () => workspaceId,
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
