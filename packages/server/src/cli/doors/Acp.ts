import { Readable, Writable } from "node:stream"
import { ndJsonStream } from "@agentclientprotocol/sdk"
import { choice, type Given, option } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { refuseFarPath } from "@reins/cli/client/BeginSession"
import { target } from "@reins/cli/client/Profile"
import { projectNamed } from "@reins/cli/client/ProjectNamed"
import { projectVersion } from "@reins/cli/client/ProjectVersions"
import { agentOptions, providerOn, wantedAgent } from "@reins/cli/client/Providers"
import { type Remote, remoteCommand, workspaceOption } from "@reins/cli/client/Remote"
import { type ChosenRepository, chooseRepository } from "@reins/cli/client/Repository"
import { closedText, repositoryOfProject } from "@reins/cli/client/RepositoryToken"
import { tell } from "@reins/cli/terminal/Output"
import { type Project, Reins, ReinsValidationError, type Session } from "@reins/client"
import packageJson from "../../../package.json" with { type: "json" }
import { type Caller, openDoor, type Permissions } from "../../doors/acp/AcpDoor.js"
import { ownMachine } from "../../doors/acp/OwnMachine.js"
import { authRequired, invalid } from "../../doors/acp/Refusals.js"
import { modeNames } from "../../doors/acp/Settings.js"

const takes = {
  project: option("project", "Start sessions from this project (that of the folder's repository)", { value: "slug" }),
  ...agentOptions,
  mode: choice("mode", modeNames, "Permissions of the agents (those of the project)"),
  onClose: choice("on-close", ["leave", "cancel"], "The fate of a turn when the editor closes (leave)"),
  workspace: workspaceOption
}

type Options = Given<typeof takes>

/** `reins acp` */
export const acp = remoteCommand({
  takes,
  details:
    "An editor starts it and speaks the Agent Client Protocol with it. Sessions go on when the editor closes,\n" +
    "and other editors can open them.",
  examples: [
    ["reins acp", "Serve an editor with the agent of your server"],
    ["reins acp --agent codex --mode ask", "Use another agent, which asks before it changes something"]
  ],
  run: (given, connect) => serve(given, connect)
})

const serve = async (given: Options, connect: (workspace?: string) => Promise<Remote>): Promise<void> => {
  // A person who starts it by hand is told at once what is wrong.
  if (process.stdin.isTTY) {
    await connect(given.workspace)
    tell("An editor speaks with this command over its standard input. Ctrl-C ends it.")
  }
  const door = openDoor(
    {
      version: packageJson.version,
      caller: () => callerOf(given, connect),
      begin: (caller, folder, permissions) => begin(given, caller, folder.path, permissions),
      sessionsOf: ({ path }) => (path === undefined ? {} : sessionsOf(path)),
      machine: ownMachine,
      mode: given.mode,
      cancelsOnClose: given.onClose === "cancel",
      tell: (line) => tell(`reins acp: ${line}`)
    },
    ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin), { maxMessageBytes: mostBytes })
  )
  await door.closed
}

/** The longest line of an editor. */
const mostBytes = 32 * 1024 * 1024

/** The caller, with a client that waits for a server which starts again. */
const callerOf = async (given: Options, connect: (workspace?: string) => Promise<Remote>): Promise<Caller> => {
  try {
    const { url, workspaceId } = await connect(given.workspace)
    const reins = new Reins({ baseUrl: url, apiKey: target(url).apiKey, maxRetries: 8 })
    return { reins, workspaceId, consoleUrl: `${reins.baseUrl}/ui` }
  } catch (error) {
    throw error instanceof CommandFailed ? authRequired(error.message) : error
  }
}

/** The sessions of the repository of a folder; undefined for a folder without one. */
const sessionsOf = (folder: string): { readonly repository_url: string } | undefined => {
  try {
    return { repository_url: chooseRepository(folder, undefined).url }
  } catch (error) {
    if (error instanceof CommandFailed) return undefined
    throw error
  }
}

const begin = async (given: Options, caller: Caller, folder: string, permissions: Permissions): Promise<Session> => {
  const { reins, workspaceId: workspace_id } = caller
  const wanted = wantedAgent(given)
  const provider = wanted && (await providerOn(reins, wanted)).provider_id
  const shared = { workspace_id, ...permissions, ...(provider !== undefined && { harness: { provider_id: provider } }) }
  // An editor has no place for a token, and the first turn in a closed repository fails.
  const refuseClosed = async (wanted: Parameters<typeof closedText>[1] | undefined) => {
    const closed = wanted && (await closedText(caller, wanted))
    if (closed !== undefined) throw invalid(closed)
  }
  const createFrom = async (project_id: string) => {
    await refuseClosed(await repositoryOfProject(reins, project_id))
    return reins.sessions.create({ ...shared, project_id })
  }
  if (given.project !== undefined) return createFrom(await requiredProject(caller, given.project))
  const { base_ref, isLocal, overHttps, url } = repositoryFor(folder, reins.baseUrl)
  const project_id = isLocal ? undefined : await projectOf(caller, url)
  if (project_id !== undefined) return createFrom(project_id)
  const createAt = async (address: string) => {
    if (!isLocal) await refuseClosed({ url: address, ref: base_ref })
    return reins.sessions.create({
      ...shared,
      repository: { url: address, ...(base_ref !== undefined && { base_ref }) }
    })
  }
  return createAt(url).catch((error: unknown) => {
    // A server that uses no SSH says so before it makes a session.
    if (overHttps === null || !(error instanceof ReinsValidationError)) throw error
    return createAt(overHttps)
  })
}

const repositoryFor = (folder: string, server: string): ChosenRepository => {
  try {
    const repository = chooseRepository(folder, undefined)
    refuseFarPath(repository, server)
    return repository
  } catch (error) {
    throw error instanceof CommandFailed ? invalid(`${error.message} Or start with \`reins acp --project\`.`) : error
  }
}

const requiredProject = async ({ reins, workspaceId: workspace_id }: Caller, name: string): Promise<string> => {
  const found = await projectNamed(reins, workspace_id, name)
  if (found !== undefined) return found
  throw invalid(`There is no project "${name}". \`reins projects\` lists them.`)
}

/** The newest project whose repository this is; undefined for none. */
const projectOf = async ({ reins, workspaceId: workspace_id }: Caller, url: string): Promise<string | undefined> => {
  const isOf = async ({ id }: Project) => {
    const repository = (await projectVersion(reins, id, undefined)).spec.repository?.url
    return repository !== undefined && plainUrl(repository) === plainUrl(url)
  }
  const all = await reins.projects.list({ workspace_id, limit: 200 }).all()
  const active = all.filter(({ archived_at, latest_version }) => archived_at === null && latest_version !== null)
  for (let from = 0; from < active.length; from += askedAtOnce) {
    const some = active.slice(from, from + askedAtOnce)
    const fit = await Promise.all(some.map(isOf))
    const found = some.find((_, at) => fit[at])
    if (found !== undefined) return found.id
  }
  return undefined
}

/** The projects whose newest version is read at the same time. */
const askedAtOnce = 20

const plainUrl = (url: string): string =>
  url
    .replace(/(?<!\/)\/+$/, "")
    .replace(/\.git$/, "")
    .toLowerCase()
