import { cutText } from "@reins/base/base/CutText"
import { type MessagesSendInput, ReinsValidationError, type SessionsCreateInput } from "@reins/client"
import { type Given, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { isInteractive } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"
import type * as Agents from "./Agents.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { choiceFor, keepChoice } from "./Choices.js"
import { withModel } from "./ChooseModel.js"
import { projectNamed } from "./ProjectNamed.js"
import { agentOptions, nameOf, providerOn, wantedAgent } from "./Providers.js"
import type { Remote } from "./Remote.js"
import { type ChosenRepository, chooseRepository } from "./Repository.js"
import { checkedRef } from "./RepositoryCheck.js"
import { lacksKey, openProjectRepository, openRepository } from "./RepositoryToken.js"

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
  /** True when nothing is told besides, and nobody is asked. */
  readonly isQuiet: boolean
}

/** The message that begins the first turn of a session. */
export interface FirstMessage extends Pick<MessagesSendInput, "tools" | "result_schema"> {
  readonly content: string
}

/** A session, and its first turn where it began with a message. */
export interface Begun {
  readonly id: string
  readonly turn_id?: string | undefined
  readonly harness: { readonly provider_id: string }
  /** The model that a person has chosen when the server wanted one. */
  readonly picked: string | undefined
}

/** A new session on the repository, which is checked before. A first message that is refused leaves no session. */
export const beginSession = async (
  remote: Remote,
  given: SessionOptions,
  { isQuiet, title }: Shown,
  message?: FirstMessage
): Promise<Begun & { readonly repository: string }> => {
  const repository = chooseRepository(given.repo ?? ".", given.ref)
  refuseFarPath(repository, remote.url)
  // A program gets what it names. The choices of before are a person's.
  const where = isQuiet || !isInteractive() ? undefined : { server: remote.url, repository: repository.url }
  const harness = await harnessOf(remote, given, isQuiet, where && choiceFor(where))
  const begun = await beginAt(remote, given, { isQuiet, title }, { repository, message, harness })
  const { provider_id: provider } = begun.harness
  const [agent, model] = [wantedAgent(given) && provider, begun.picked ?? given.model]
  if (where && (agent !== undefined || model !== undefined)) keepChoice(where, { agent, provider, model })
  return { ...begun, repository: repository.url }
}

/** The parts of a session that were chosen. */
interface Parts {
  readonly repository: ChosenRepository
  readonly message: FirstMessage | undefined
  readonly harness: Pick<SessionsCreateInput, "harness">
}

const beginAt = async (
  remote: Remote,
  given: SessionOptions,
  { isQuiet, title }: Shown,
  { harness, message, repository }: Parts
): Promise<Begun> => {
  const { workspaceId: workspace_id } = remote
  const note = (text: string) => (isQuiet ? undefined : tell(`Note: ${text}`))
  for (const each of repository.notes) note(each)
  const check = (asked: Parameters<typeof checkedRef>[0]) => openRef(remote, asked, isQuiet)
  const { overHttps } = repository
  const isHttps = !repository.isLocal && overHttps === null
  const ref = isHttps ? await check({ ...repository, ref: repository.base_ref }) : repository.base_ref
  const createAt = (address: string) =>
    make(remote, isQuiet, {
      workspace_id,
      title: titleOf(title),
      repository: {
        url: address,
        ...(ref !== undefined && { base_ref: ref }),
        ...(given.sparse !== undefined && { sparse: foldersIn(given.sparse) })
      },
      ...(given.budget !== undefined && { budget: budgetOf(given.budget) }),
      ...(message && { message }),
      ...harness
    })
  const viaHttps = async (why: string, address: string) => {
    note(`${why}, so it clones ${address}.`)
    await check({ url: address, ref, refs: [], pullRequest: null })
    return createAt(address)
  }
  if (overHttps !== null && (await lacksKey(remote, repository.url)))
    return viaHttps(`The server has no key for ${repository.url}`, overHttps)
  return createAt(repository.url).catch(async (error: unknown) => {
    // A server that uses no SSH says so before it makes a session.
    if (overHttps === null || !(error instanceof ReinsValidationError)) throw error
    return viaHttps("The server uses no SSH", overHttps)
  })
}

/** A new session of a project, by its slug or id. A first message that is refused leaves no session. */
export const beginSessionOf = async (
  remote: Remote,
  project: string,
  given: SessionOptions,
  { isQuiet, title }: Shown,
  message: FirstMessage
): Promise<Begun> => {
  const { reins, workspaceId: workspace_id } = remote
  if (given.repo !== undefined || given.ref !== undefined || given.sparse !== undefined)
    throw new CommandFailed({ message: "A project names its repository. Leave out --repo, --ref and --sparse." })
  const project_id = await projectNamed(reins, workspace_id, project)
  if (project_id === undefined)
    throw new CommandFailed({ message: `There is no project "${project}". \`reins projects list\` shows them.` })
  await openProjectRepository(remote, project_id, isQuiet)
  return make(remote, isQuiet, {
    workspace_id,
    project_id,
    title: titleOf(title),
    message,
    ...(given.budget !== undefined && { budget: budgetOf(given.budget) }),
    ...(await harnessOf(remote, given, isQuiet))
  })
}

const make = async (remote: Remote, isQuiet: boolean, input: SessionsCreateInput): Promise<Begun> => {
  let picked: string | undefined
  const create = (harness: Pick<SessionsCreateInput, "harness">) =>
    remote.reins.sessions.create({ ...input, ...harness })
  const made = await withModel(
    remote,
    isQuiet,
    () => create({}),
    (provider_id, model) => {
      picked = model
      return create({ harness: { provider_id, model } })
    }
  )
  return { id: made.id, turn_id: made.turn_id, harness: made.harness, picked }
}

/** The first line of a message. */
export const titleOf = (message: string): string => cutText(message.trim().split("\n")[0] ?? "", 80)

/** Refuses what a session that is named has from its beginning. */
export const refuseAnew = (given: SessionOptions & { readonly session: string | undefined }): void => {
  if (given.session === undefined) return
  const names = (["repo", "ref", "sparse", "agent", "provider"] as const).filter((name) => given[name] !== undefined)
  if (names.length > 0)
    throw new CommandFailed({
      message: `The session has that already. Leave out ${names.map((name) => `--${name}`).join(", ")} or --session.`
    })
}

/** Has a session go on with the model that was named. */
export const changeModel = async ({ reins }: Remote, session_id: string, { model }: SessionOptions): Promise<void> => {
  if (model !== undefined) await reins.sessions.update({ session_id, model })
}

/** Sends a message that begins a turn in a session that is there, and gives the id of the turn. */
export const sendMessage = async (
  remote: Pick<Remote, "reins" | "workspaceId">,
  message: MessagesSendInput,
  isQuiet: boolean,
  picked: (provider_id: string, model: string) => void = () => undefined
): Promise<string> => {
  const { reins } = remote
  const { session_id } = message
  const { turn_id } = await withModel(
    remote,
    isQuiet,
    () => reins.messages.send(message),
    async (provider_id, model) => {
      await reins.sessions.update({ session_id, model })
      picked(provider_id, model)
      return reins.messages.send(message)
    }
  )
  return begun(turn_id)
}

/** The turn of a message. */
export const begun = (turnId: string | undefined): string => {
  if (turnId !== undefined) return turnId
  throw new CommandFailed({ message: "The server took the message and began no turn." })
}

/** The ref to start from, of a repository that this machine and the server have looked at. The person is asked for a token where one is needed. */
const openRef = async (
  remote: Remote,
  asked: Parameters<typeof checkedRef>[0],
  isQuiet: boolean
): Promise<string | undefined> => {
  let isLooked = false
  const open = async (ref: string | undefined) => {
    isLooked = true
    const { state } = await openRepository(remote, { url: asked.url, ref }, isQuiet)
    return state !== "not_found" && state !== "auth_required"
  }
  const ref = await checkedRef(asked, open)
  // This machine may have a credential that the server has not.
  if (!isLooked) await open(ref)
  return ref
}

/** The folders of a list. A shell that completes names puts a slash at their ends. */
const foldersIn = (list: string): ReadonlyArray<string> =>
  list.split(",").map((folder) => folder.trim().replace(/(?<=[^/])\/$/, ""))

/**
 * The provider and the model that were named, or else those that were chosen last. A model alone is one of the default provider, which the API has to be
 * told.
 */
const harnessOf = async (
  remote: Remote,
  given: SessionOptions,
  isQuiet: boolean,
  last?: ReturnType<typeof choiceFor>
): Promise<Pick<SessionsCreateInput, "harness">> => {
  const wanted = wantedAgent(given)
  if (wanted === undefined && given.model === undefined && last === undefined) return {}
  const offer = async (agent: Parameters<typeof Agents.offerAgent>[1]) =>
    !isQuiet && isInteractive() && (await import("./Agents.js")).offerAgent(remote, agent)
  const lastAgent = wanted === undefined && last?.agent ? await readyAgent(remote, last.agent) : undefined
  const chosen = lastAgent ?? (await providerOn(remote.reins, wanted, offer))
  const { installed, provider_id } = chosen
  const model = given.model ?? last?.models[provider_id]
  if (!installed && !(await offer(chosen)))
    throw new CommandFailed({
      message: `${nameOf(chosen)} is not installed on the server. An owner of the workspace installs it: reins agents enable ${provider_id}`
    })
  if (lastAgent !== undefined || model !== given.model) {
    const taken = `${nameOf(chosen)}${model === undefined ? "" : ` with ${model}`}`
    tell(harmless(`${taken}, as chosen last for this repository. --agent and --model change it.`))
  }
  return { harness: { provider_id, ...(model !== undefined && { model }) } }
}

/** The agent of before; undefined where the server cannot run it any more, which is told. */
const readyAgent = async ({ reins }: Remote, id: string) => {
  const { items } = await reins.catalog.listHarnesses()
  const found = items.find(({ installed, provider_id, tier }) => provider_id === id && installed && tier !== "disabled")
  if (found === undefined) tell(`Note: ${harmless(id)}, which was chosen last, is not ready on the server.`)
  return found
}

/** A server of another machine would look for the path in its own files. */
export const refuseFarPath = ({ isLocal, url }: Pick<ChosenRepository, "isLocal" | "url">, server: string): void => {
  if (!isLocal || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(new URL(server).hostname)) return
  throw new CommandFailed({
    message: `${url} has no remote that ${server} could reach. Push it somewhere, or name a URL with --repo.`
  })
}
