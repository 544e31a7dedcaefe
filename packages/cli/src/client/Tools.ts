import { statSync } from "node:fs"
import { createRequire } from "node:module"
import { resolve } from "node:path"
import { types } from "node:util"
import { type CallableFunction, type CallableFunctions, later } from "@reins/client"
import { argument, entry, flag, group, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { takeInterrupts } from "../terminal/Interrupts.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand, workspaceOption } from "./Remote.js"

/** The functions of a module: its default export, or the one with the name `tools`. A module cannot await something at its top. */
export const loadTools = async (path: string): Promise<CallableFunctions> => {
  const file = resolve(path)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined)
    throw new CommandFailed({ message: `There is no file ${path}. Name the module that exports your functions.` })
  if (found.isDirectory())
    throw new CommandFailed({ message: `${path} is a folder. Name the module in it that exports your functions.` })
  const module = loadModule(file, path)
  const tools = module["default"] ?? module["tools"]
  if (typeof tools !== "object" || tools === null || Array.isArray(tools) || Object.keys(tools).length === 0)
    throw new CommandFailed({
      message: `${path} has no tools. Export an object of functions by their names as default.`
    })
  for (const [name, tool] of Object.entries(tools)) {
    const fault = faultOf(name, tool)
    if (fault !== undefined) throw new CommandFailed({ message: `The tool ${name} of ${path} ${fault}` })
  }
  return tools as CallableFunctions
}

/** Gives the exports of a module of either kind. The program is a script without `import()`, and bundlers put different calls in its place. */
const loadModule = (file: string, path: string): Readonly<Record<string, unknown>> => {
  try {
    const found: unknown = createRequire(file)(file)
    const { __esModule, tools } = Object(found)
    if (types.isModuleNamespaceObject(found) || __esModule === true) return found as Readonly<Record<string, unknown>>
    // A function may have the name `tools`, and CommonJS has no default export that could stand beside it.
    return typeof tools === "object" && typeof tools?.run !== "function" ? { tools } : { default: found }
  } catch (cause) {
    throw new CommandFailed({ message: `The tools in ${path} could not be loaded: ${loadFailure(cause)}` })
  }
}

/** The reason why a module cannot be loaded, in one line, with the place of a mistake in its words. */
const loadFailure = (cause: unknown): string => {
  if (!(cause instanceof Error)) return `it throws ${String(cause)}`
  const [message = ""] = cause.message.split("\n")
  const code = "code" in cause ? cause.code : undefined
  if (code === "ERR_REQUIRE_ASYNC_MODULE") return "it awaits something at its top. Await it in a function instead."
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND")
    return `${message}. Install it, or mend the import.`
  const [, place] = /^(?:file:\/\/)?(\/\S+:\d+)$/m.exec(cause.stack ?? "") ?? []
  return place === undefined ? message : `${message} (${place})`
}

/** The fault of a tool of a module, as a sentence; undefined for one that is whole. */
const faultOf = (name: string, tool: unknown): string | undefined => {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,47}$/.test(name))
    return "needs another name: a letter, then at most 47 letters, digits, _ and -."
  if (typeof tool !== "object" || tool === null) return "needs a description, an input and a run."
  const { description, input, run }: { description?: unknown; input?: unknown; run?: unknown } = tool
  if (typeof description !== "string" || description === "") return "needs a description: words for the model."
  if (typeof input !== "object" || input === null || !("type" in input) || input.type !== "object")
    return 'needs an input: a JSON Schema of the type "object".'
  return typeof run === "function" ? undefined : "needs a run: the function itself."
}

/** The same functions, which tell on the terminal what they have thrown. The model is told in any case. */
const tellingFailures = (tools: CallableFunctions): CallableFunctions =>
  Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const run: CallableFunction["run"] = async (input, call) => {
        try {
          return await tool.run(input, call)
        } catch (error) {
          const words = error instanceof Error ? error.message || error.name : String(error)
          if (error !== later) tell(`${name} has failed: ${harmless(words)}`)
          throw error
        }
      }
      return [name, { ...tool, run }]
    })
  )

/** Ends the process soon, which a function that never ends would keep. */
export const leaveFunctions = (): void => void setTimeout(() => process.exit(), 500).unref()

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
    const tools = tellingFailures(await loadTools(module))
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
      leaveFunctions()
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
