import { type MessagesSendInput, ReinsApiError, ReinsValidationError } from "@reins/client"
import { cutText } from "@reins/core/base/CutText"
import { type Given, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { some } from "../terminal/Listing.js"
import { tell } from "../terminal/Output.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { projectNamed } from "./ProjectNamed.js"
import { agentOptions, chosenProvider, nameOf, wantedAgent } from "./Providers.js"
import type { Remote } from "./Remote.js"
import { type ChosenRepository, chooseRepository } from "./Repository.js"
import { checkedRef } from "./RepositoryCheck.js"

/** The options of a new session. */
export const sessionOptions = {
  repo: option("repo", "A folder, a URL, or owner/name on GitHub (the working directory)", { value: "repository" }),
  ref: option("ref", "The branch, tag or commit to start from (that of the folder)"),
  sparse: option("sparse", "The folders that the agent gets: apps/web,packages/ui (all)", { value: "folders" }),
  ...agentOptions,
  model: option("model", "The model (the preferred one of the connection)", { value: "model" }),
  budget: option("budget", `The limit: ${budgetForms}`, { value: "amount" })
}

type SessionOptions = Given<typeof sessionOptions>

interface Shown {
  /** The text that begins the title. */
  readonly title: string
  /** True when nothing is told besides. */
  readonly isQuiet: boolean
}

/** A new session on the repository, which is checked before. Gives its id. */
export const beginSession = async (
  { reins, url, workspaceId: workspace_id }: Remote,
  given: SessionOptions,
  { isQuiet, title }: Shown
): Promise<string> => {
  const repository = chooseRepository(given.repo ?? ".", given.ref)
  refuseFarPath(repository, url)
  const note = (text: string) => (isQuiet ? undefined : tell(`Note: ${text}`))
  for (const each of repository.notes) note(each)
  const harness = await harnessOf(reins, given)
  const check = (asked: Parameters<typeof checkedRef>[0]) => checkedRef(asked, () => hasForge(reins, workspace_id))
  const isAsked = !repository.isLocal && repository.overHttps === null
  const ref = isAsked ? await check({ ...repository, ref: repository.base_ref }) : repository.base_ref
  const createAt = (address: string) =>
    reins.sessions.create({
      workspace_id,
      title: titleOf(title),
      repository: {
        url: address,
        ...(ref !== undefined && { base_ref: ref }),
        ...(given.sparse !== undefined && { sparse: foldersIn(given.sparse) })
      },
      ...(given.budget !== undefined && { budget: budgetOf(given.budget) }),
      ...harness
    })
  const { overHttps } = repository
  const { id } = await createAt(repository.url).catch(async (error: unknown) => {
    // A server that uses no SSH says so before it makes a session.
    if (overHttps === null || !(error instanceof ReinsValidationError)) throw error
    note(`The server uses no SSH, so it clones ${overHttps}.`)
    await check({ url: overHttps, ref, refs: [], pullRequest: null })
    return createAt(overHttps)
  })
  return id
}

/** A new session of a project, by its slug or id. Gives its id. */
export const beginSessionOf = async (
  { reins, workspaceId: workspace_id }: Remote,
  project: string,
  given: SessionOptions,
  title: string
): Promise<string> => {
  if (given.repo !== undefined || given.ref !== undefined || given.sparse !== undefined)
    throw new CommandFailed({ message: "A project names its repository. Leave out --repo, --ref and --sparse." })
  const project_id = await projectNamed(reins, workspace_id, project)
  if (project_id === undefined)
    throw new CommandFailed({ message: `There is no project "${project}". \`reins projects list\` shows them.` })
  const { id } = await reins.sessions.create({
    workspace_id,
    project_id,
    title: titleOf(title),
    ...(given.budget !== undefined && { budget: budgetOf(given.budget) }),
    ...(await harnessOf(reins, given))
  })
  return id
}

/** The first line of a message. */
const titleOf = (message: string): string => cutText(message.split("\n")[0] ?? message, 80)

/** Sends a message that begins a turn, and gives the id of the turn. Names the models where one has to be chosen. */
export const sendMessage = async (
  { reins, workspaceId: workspace_id }: Pick<Remote, "reins" | "workspaceId">,
  message: MessagesSendInput
): Promise<string> => {
  try {
    const { turn_id } = await reins.messages.send(message)
    if (turn_id !== undefined) return turn_id
  } catch (error) {
    if (!(error instanceof ReinsApiError) || error.code !== "model_required") throw error
    const { provider_id } = error.details
    const asked = { workspace_id, ...(typeof provider_id === "string" && { provider_id }) }
    const { items } = await reins.catalog.listModels(asked).catch(() => ({ items: [] }))
    if (items.length === 0) throw error
    throw new CommandFailed({ message: `Choose a model with --model: ${some(items.map(({ id }) => id))}.` })
  }
  throw new CommandFailed({ message: "The server took the message and began no turn." })
}

/** True when the workspace has a connection that git may use. */
const hasForge = async (reins: Remote["reins"], workspace_id: string): Promise<boolean> =>
  (await reins.connections.list({ workspace_id, limit: 200 })).items.some(
    ({ kind, state }) => state === "active" && !/gateway$|^beta$/.test(kind)
  )

/** The folders of a list. A shell that completes names puts a slash at their ends. */
const foldersIn = (list: string): ReadonlyArray<string> =>
  list.split(",").map((folder) => folder.trim().replace(/(?<=[^/])\/$/, ""))

/** The provider and the model that were named. A model alone is one of the default provider, which the API has to be told. */
const harnessOf = async (reins: Remote["reins"], given: SessionOptions) => {
  const { model } = given
  const wanted = wantedAgent(given)
  if (wanted === undefined && model === undefined) return {}
  const chosen = chosenProvider((await reins.catalog.listHarnesses()).items, wanted)
  const { installed, provider_id } = chosen
  if (!installed)
    throw new CommandFailed({
      message: `${nameOf(chosen)} is not installed on the server. Install it there: reins harnesses install ${provider_id}`
    })
  return { harness: { provider_id, ...(model !== undefined && { model }) } }
}

/** A server of another machine would look for the path in its own files. */
export const refuseFarPath = ({ isLocal, url }: Pick<ChosenRepository, "isLocal" | "url">, server: string): void => {
  if (!isLocal || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(new URL(server).hostname)) return
  throw new CommandFailed({
    message: `${url} has no remote that ${server} could reach. Push it somewhere, or name a URL with --repo.`
  })
}
