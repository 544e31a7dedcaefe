import type { Reins } from "@reins/client"
import { argument, entry, flag, group, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless, harmlessJson } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { checkProject } from "./ProjectServers.js"
import { projectVersion } from "./ProjectVersions.js"
import { agentOptions, providerOn, wantedAgent } from "./Providers.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { chooseRepository } from "./Repository.js"
import { addToken, tokenVariable } from "./RepositoryToken.js"
import { requireYes, untilDeleted, yes } from "./SessionState.js"

const json = flag("json", "Lines of JSON in the place of text")

/** `reins models` */
export const models = remoteCommand({
  takes: { ...agentOptions, json, workspace: workspaceOption },
  details: "A gateway may have models that it does not list.",
  examples: [
    ["reins models", "The models of your connections"],
    ["reins models --agent codex", "Those that Codex can take"]
  ],
  run: async (given, connect) => {
    const wanted = wantedAgent(given)
    const { reins, workspaceId: workspace_id } = await connect(given.workspace)
    const { provider_id } = await providerOn(reins, wanted)
    const { items } = await reins.catalog.listModels({ workspace_id, provider_id })
    if (given.json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("The gateway lists no models. Name one with --model when you run a task.")
    const preferred = await preferredModels(reins, workspace_id)
    const rows = items.map(({ connection_id, context_window, display_name, id }) => [
      harmless(id),
      preferred.has(`${connection_id} ${id}`) ? "preferred" : "",
      context_window === null ? "-" : context_window.toLocaleString("en-US"),
      harmless(display_name ?? "")
    ])
    process.stdout.write(table([["MODEL", "", "CONTEXT", "NAME"], ...rows]))
  }
})

const preferredModels = async (reins: Reins, workspace_id: string): Promise<ReadonlySet<string>> => {
  const connections = await reins.connections.list({ workspace_id, limit: 200 }).all()
  return new Set(connections.map(({ id, preferred_model }) => `${id} ${preferred_model}`))
}

const list = remoteCommand({
  takes: { json, workspace: workspaceOption },
  examples: [
    ["reins connections list", "The connections to models and forges"],
    ["reins connections list --json", "The same for a program"]
  ],
  run: async ({ json, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const items = await reins.connections.list({ workspace_id: workspaceId }).all()
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("There is no connection yet. Add one to your models: reins init --gateway URL")
    const rows = items.map(({ health, id, kind, label, preferred_model, state }) => [
      id,
      kind,
      state === "active" ? health.replaceAll("_", " ") : state,
      preferred_model ?? "-",
      harmless(label)
    ])
    process.stdout.write(table([["CONNECTION", "KIND", "STATE", "MODEL", "LABEL"], ...rows]))
  }
})

const connection = argument("connection", "The id of a connection")

const check = remoteCommand({
  takes: { connection, json },
  details: "Exits with 1 when the connection does not work.",
  examples: [
    ["reins connections check con_01h…", "Ask the service whether it takes the key"],
    ["reins connections list", "See the connections"]
  ],
  run: async ({ connection, json }, connect) => {
    const { reins } = await connect()
    const { operation, validation: begun } = await reins.connections.validate({ connection_id: connection })
    await reins.jobs.wait(operation)
    const all = await reins.connections.listValidations({ connection_id: connection }).all()
    const found = all.find(({ id }) => id === begun.id)
    if (json) printJsonNow(found ?? begun)
    if (found?.state !== "passed")
      throw new CommandFailed({
        message: `The connection does not work (${(found?.reason ?? "no answer").replaceAll("_", " ")}).`
      })
    if (!json) tell("The connection works.")
  }
})

const prefer = remoteCommand({
  takes: { connection, model: argument("model", "The model that sessions take if they name none") },
  examples: [
    ["reins connections prefer con_01h… gpt-5", "Choose the model of new sessions"],
    ["reins models", "See the models"]
  ],
  run: async ({ connection, model }, connect) => {
    const { reins } = await connect()
    await reins.connections.update({ connection_id: connection, preferred_model: model })
    tell(`Sessions take ${model} if they name no model.`)
  }
})

const remove = remoteCommand({
  takes: { connection, yes },
  details: "Its credential is destroyed. Sessions that use it need another connection.",
  examples: [
    ["reins connections remove con_01h…", "Disconnect, after a question"],
    ["reins connections remove con_01h… --yes", "Disconnect without one"]
  ],
  run: async ({ connection, yes }, connect) => {
    const { reins } = await connect()
    const { label } = await reins.connections.get({ connection_id: connection })
    await requireYes(`Disconnect "${harmless(label)}" and destroy its credential?`, yes)
    await reins.connections.disconnect({ connection_id: connection })
    tell("Disconnected.")
  }
})

const add = remoteCommand({
  takes: {
    repository: optionalArgument("repository", "A folder, a URL, or owner/name on GitHub (the working directory)"),
    user: option("user", "The name beside the token, for a host that wants one", { value: "name" }),
    workspace: workspaceOption
  },
  details:
    `The token is asked for, or comes from ${tokenVariable}. Every session on that host then uses it.\n` +
    "Needs a key with the scope admin.",
  examples: [
    ["reins connections add", "Save a token for the repository of this folder"],
    [`${tokenVariable}=TOKEN reins connections add https://git.example/acme/shop`, "Save one without a question"]
  ],
  run: async ({ repository = ".", user, workspace }, connect) => {
    const { isLocal, overHttps, url } = chooseRepository(repository, undefined)
    if (isLocal) throw new CommandFailed({ message: `${url} is a folder, which needs no connection. Name a URL.` })
    await addToken(await connect(workspace), overHttps ?? url, user)
  }
})

/** `reins connections` */
export const connections = group(
  entry("list", "List the connections to models and forges", list),
  entry("add", "Save a token for a private repository and its host", add),
  {
    name: "login",
    about: "Log in to a server of tools with your browser",
    also: [],
    load: async () => (await import("./ConnectionLogin.js")).login
  },
  entry("check", "Ask the service whether it takes the key", check),
  entry("prefer", "Choose the model that sessions take if they name none", prefer),
  entry("remove", "Disconnect, and destroy the credential", remove)
)

const listProjects = remoteCommand({
  takes: { json, workspace: workspaceOption },
  examples: [
    ["reins projects list", "The projects of your workspace"],
    ["reins projects list --json | jq -r .slug", "Their short names alone"]
  ],
  run: async ({ json, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const items = await reins.projects.list({ workspace_id: workspaceId, limit: 100 }).all()
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("There is no project. Sessions work without one; the console makes projects.")
    const rows = items.map(({ archived_at, id, latest_version, name, slug }) => [
      id,
      slug,
      latest_version === null ? "-" : String(latest_version.ordinal),
      archived_at === null ? "active" : "archived",
      harmless(name)
    ])
    process.stdout.write(table([["PROJECT", "SHORT NAME", "VERSION", "STATE", "NAME"], ...rows]))
  }
})

const showProject = remoteCommand({
  takes: {
    project: argument("project", "The id of a project"),
    version: option("version", "Another version than the newest", { value: "number" })
  },
  examples: [
    ["reins projects show prj_01h…", "The newest version, as JSON"],
    ["reins projects show prj_01h… --version 2", "An earlier one"]
  ],
  run: async ({ project, version }, connect) => {
    const { reins } = await connect()
    const found = await projectVersion(reins, project, version)
    process.stdout.write(`${harmlessJson(found, 2)}\n`)
  }
})

const removeProject = remoteCommand({
  takes: { project: argument("project", "The id of a project"), yes },
  details:
    "Its versions, secrets and prepared setups go. Its sessions stay, without a project. Waits until nothing is left of it.",
  examples: [
    ["reins projects delete prj_01h…", "Delete it, after a question"],
    ["reins projects delete prj_01h… --yes", "Delete it without one"]
  ],
  run: async ({ project: project_id, yes }, connect) => {
    const { reins } = await connect()
    const { name } = await reins.projects.get({ project_id })
    await requireYes(`Delete "${harmless(name)}" for good, with its versions and secrets?`, yes)
    await reins.projects.delete({ project_id })
    await untilDeleted(() => reins.projects.getDeletion({ project_id }))
    tell("Deleted. Its sessions are still there.")
  }
})

/** `reins projects` */
export const projects = group(
  entry("list", "List the projects", listProjects),
  entry("show", "Print a version of a project", showProject),
  entry("check", "Connect to the MCP servers of a project, and see which tools are ready", checkProject),
  entry("delete", "Delete a project for good, with its versions and secrets", removeProject)
)
