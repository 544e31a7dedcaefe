import { shortened } from "@reins/base/base/CutText"
import type { CheckedServer, CheckedTool, ServerCheck } from "@reins/client"
import { argument, flag, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { reasonText } from "./ErrorSentences.js"
import { projectVersion } from "./ProjectVersions.js"
import { remoteCommand } from "./Remote.js"

const standings: Readonly<Record<CheckedTool["standing"], string>> = {
  offered: "ready",
  changed: "changed",
  missing: "missing",
  refused: "not offered"
}

const noteOf = ({ description, permission, reason, standing }: CheckedTool): string => {
  switch (standing) {
    case "offered":
      return permission === "ask" ? "asks people first" : ""
    case "changed":
      return harmless(`Now: ${shortened((description ?? "").replaceAll(/\s+/g, " "), 200)}`)
    case "missing":
      return "The server does not have this tool."
    case "refused":
      return harmless(reason ?? "The server describes it in a way that cannot be offered.")
  }
}

const rowsOf = ({ name, problem, state, tools }: CheckedServer): ReadonlyArray<ReadonlyArray<string>> =>
  problem === null
    ? tools.map((tool) => [name, tool.name, standings[tool.standing], noteOf(tool)])
    : [[name, "-", unreached[state], reasonText({ reason: null, reason_message: problem }).replaceAll("\n", " ")]]

const unreached: Readonly<Record<CheckedServer["state"], string>> = {
  reached: "reached",
  auth_required: "not authorized",
  unusable: "not usable",
  unreachable: "not reached"
}

/** A sentence on what keeps tools from agents, with the way to mend it; undefined where all are ready. */
const faultOf = ({ servers }: ServerCheck, project: string): string | undefined => {
  const tools = servers.flatMap((server) => server.tools)
  const changed = tools.filter(({ standing }) => standing === "changed").length
  if (changed > 0)
    return `${changed} of ${tools.length} tools have changed. Read what they say now, then pin them: reins projects check ${project} --pin`
  const isReady = servers.every(({ problem }) => problem === null) && tools.every((tool) => tool.standing === "offered")
  return isReady ? undefined : "Agents are not offered all tools of the project."
}

const print = ({ servers, version: { ordinal } }: ServerCheck, isPinned: boolean): void => {
  if (servers.length === 0) tell(`Version ${ordinal} of the project names no server.`)
  else process.stdout.write(table([["SERVER", "TOOL", "STATE", "NOTE"], ...servers.flatMap(rowsOf)]))
  if (isPinned) tell(`Version ${ordinal} is published with the pins.`)
}

/** `reins projects check` */
export const checkProject = remoteCommand({
  takes: {
    project: argument("project", "The id of a project"),
    version: option("version", "Another version than the newest", { value: "number" }),
    pin: flag("pin", "Publish the next version, with the tools pinned as the servers describe them now"),
    json: flag("json", "JSON in the place of text")
  },
  details: "Connects to the MCP servers of a project. Exits with 1 when agents are not offered all of their tools.",
  examples: [
    ["reins projects check prj_01h…", "See which tools of its servers are ready"],
    ["reins projects check prj_01h… --pin", "Accept tools that have changed, after you read what they say"]
  ],
  run: async ({ json, pin, project: project_id, version }, connect) => {
    const { reins } = await connect()
    const version_id = version === undefined ? undefined : (await projectVersion(reins, project_id, version)).id
    const check = await reins.projects.checkServers({
      project_id,
      ...(version_id !== undefined && { version_id }),
      ...(pin && { pin })
    })
    if (json) printJsonNow(check)
    else print(check, pin)
    const fault = faultOf(check, project_id)
    if (fault !== undefined) throw new CommandFailed({ message: fault })
  }
})
