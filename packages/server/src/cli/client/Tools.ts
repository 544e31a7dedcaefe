import { resolve } from "node:path"
import type { CallableFunction, CallableFunctions } from "@reins/client"
import { argument, entry, flag, group, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { takeInterrupts } from "../terminal/Interrupts.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless, table } from "../terminal/Style.js"
import { remoteCommand, workspaceOption } from "./Remote.js"

/**
 * The functions of a module: its default export, or the one with the name `tools`. The build makes a `require` of the import. That takes a path and no
 * URL, and no module that awaits something at its top.
 */
export const loadTools = async (path: string): Promise<CallableFunctions> => {
  const module: Readonly<Record<string, unknown>> = await import(resolve(path)).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailed({ message: `The tools in ${path} could not be loaded: ${reason}` })
  })
  const found = module["default"] ?? module["tools"]
  if (typeof found !== "object" || found === null)
    throw new CommandFailed({
      message: `${path} has no tools. Export an object of functions by their names as default.`
    })
  for (const [name, tool] of Object.entries(found))
    if (!isCallable(tool))
      throw new CommandFailed({ message: `The tool ${name} of ${path} needs a description, an input and a run.` })
  return found as CallableFunctions
}

const isCallable = (tool: unknown): tool is CallableFunction =>
  typeof tool === "object" &&
  tool !== null &&
  "description" in tool &&
  "input" in tool &&
  "run" in tool &&
  typeof tool.run === "function"

const serve = remoteCommand({
  takes: {
    module: argument("module", "A module of JavaScript that exports functions"),
    concurrency: option("concurrency", "The most calls at once (4)", { value: "number" }),
    workspace: workspaceOption
  },
  details: "It answers until it is stopped. Several may run at once: each call has one holder.",
  examples: [
    ["reins tools serve ./tools.mjs", "Answer the calls of agents"],
    ["reins tools serve ./tools.mjs --concurrency 16", "Answer more of them at once"]
  ],
  run: async ({ concurrency, module, workspace }, connect) => {
    const tools = await loadTools(module)
    const most = concurrency === undefined ? 4 : Number(concurrency)
    if (!Number.isInteger(most) || most < 1)
      throw new CommandFailed({ message: "--concurrency takes a whole number, 1 at least." })
    const { reins, workspaceId: workspace_id } = await connect(workspace)
    const stopped = new AbortController()
    const interrupts = takeInterrupts(() => stopped.abort())
    process.once("SIGTERM", () => stopped.abort())
    tell(`Answers ${Object.keys(tools).join(", ")}. Ctrl-C ends it.`)
    try {
      await reins.serveTools({ workspace_id, tools, concurrency: most, signal: stopped.signal })
    } finally {
      interrupts.release()
    }
  }
})

/** `reins tools` */
export const tools = group(entry("serve", "Answer the calls of your functions", serve))

/** `reins tool-calls` */
export const toolCalls = remoteCommand({
  takes: { turn: argument("turn", "The id of a turn"), json: flag("json", "Lines of JSON in the place of text") },
  examples: [
    ["reins tool-calls turn_01h…", "The tools of Reins that the agent has called"],
    ["reins tool-calls turn_01h… --json", "The same for a program"]
  ],
  run: async ({ json, turn: turn_id }, connect) => {
    const { reins } = await connect()
    const rows: Array<ReadonlyArray<string>> = []
    for await (const call of reins.toolCalls.list({ turn_id, limit: 100 })) {
      if (json) printJsonNow(call)
      else
        rows.push([
          call.opened_at.slice(11, 19),
          harmless(call.tool),
          call.state.replaceAll("_", " "),
          call.duration_ms === null ? "" : `${call.duration_ms} ms`,
          call.bytes === null ? "" : String(call.bytes)
        ])
    }
    if (json) return
    if (rows.length === 0) return tell("The agent has called no tool of Reins in this turn.")
    process.stdout.write(table([["TIME", "TOOL", "STATE", "TOOK", "BYTES"], ...rows.reverse()]))
  }
})
