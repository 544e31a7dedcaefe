import { text as readAll } from "node:stream/consumers"
import { Args, Command, Options } from "@effect/cli"
import type { BudgetInput, Changeset, Delivery, TurnSnapshot } from "@reins/client"
import { cutText } from "@reins/core/base/CutText"
import { Option } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { Aborted, ask, isInteractive } from "../terminal/Prompts.js"
import type { Answering } from "./Approvals.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { allowOption, changesetOf, deliver, tellDelivery, tellDiagnostics, writeDiff } from "./Deliver.js"
import { type Display, display, exitCodeOf, follow, tellEnd } from "./Follow.js"
import { chosenProvider } from "./Providers.js"
import { attempt, connect, exitCodes, type Remote } from "./Remote.js"
import { type ChosenRepository, chooseRepository } from "./Repository.js"

const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

const options = {
  message: Args.text({ name: "message" }).pipe(
    Args.withDescription("The task of the agent; read from the standard input when absent"),
    Args.optional
  ),
  repo: optional("repo", "A folder of a git repository, or the URL of one (the working directory)"),
  ref: optional("ref", "The branch, tag or commit to start from (that of the folder)"),
  sparse: optional(
    "sparse",
    "The folders of the repository that the agent gets, with commas between them: apps/web,packages/ui (the whole tree)"
  ),
  session: optional("session", "Go on in this session instead of a new one"),
  provider: optional("provider", "The provider of the agent (the default of the server)"),
  model: optional("model", "The model (the preferred one of the connection)"),
  workspace: optional("workspace", "The workspace, by name or id (your own)"),
  budget: optional(
    "budget",
    `The limit of the new session with all that it delegates, or with --session of the turn. Takes ${budgetForms}`
  ),
  deliver: Options.boolean("deliver").pipe(Options.withDescription("Deliver the branch without asking")),
  branch: optional("branch", "The name of the branch that is delivered"),
  allow: allowOption,
  approve: Options.boolean("approve").pipe(
    Options.withDescription("Allow every tool that the agent asks for, without asking you")
  ),
  json: Options.boolean("json").pipe(
    Options.withDescription("One line of JSON for each event, and a last one with the result")
  )
}

type Given = Command.Command.ParseConfig<typeof options>

export const run = Command.make("run", options, (given) => attempt(() => runMessage(given))).pipe(
  Command.withDescription(
    "Have an agent do something to a repository, and see it. Exits with 2 when the turn failed, 3 when it was interrupted, " +
      "5 when it was left running, 130 when it was cancelled. Exits with 4 when the delivery did not succeed, 1 for all else"
  )
)

const runMessage = async (given: Given): Promise<void> => {
  const content = await messageOf(given)
  if (content.trim() === "") throw new CommandFailed({ message: "The message is empty. Say what the agent is to do." })
  const budget = Option.getOrUndefined(Option.map(given.budget, budgetOf))
  const remote = await connect(Option.getOrUndefined(given.workspace))
  const view = display(given.json)
  const begun = Option.isSome(given.session)
    ? { sessionId: given.session.value, after: await watermark(remote, given.session.value) }
    : await begin(remote, given, content, budget)
  if (!given.json) tell(`Session ${begun.sessionId}`)
  const ofTurn = Option.isSome(given.session) && budget !== undefined ? { budget } : {}
  const { turn_id } = await remote.reins.messages.send({ session_id: begun.sessionId, content, ...ofTurn })
  if (turn_id === undefined) throw new CommandFailed({ message: "The server took the message and began no turn." })
  const turn = await follow({
    reins: remote.reins,
    turnId: turn_id,
    display: view,
    answering: answeringOf(given),
    interrupt: "cancel",
    ...begun
  })
  await finish(remote, given, view, begun.sessionId, turn)
}

const answeringOf = ({ approve, json }: Given): Answering => {
  if (approve) return "allow"
  if (json) return "leave"
  return isInteractive() ? "ask" : "refuse"
}

const messageOf = async ({ message }: Given): Promise<string> => {
  if (Option.isSome(message)) return message.value
  if (process.stdin.isTTY) return ""
  return (await readAll(process.stdin)).trim()
}

const watermark = async ({ reins }: Remote, session_id: string): Promise<number> =>
  (await reins.sessions.get({ session_id })).event_watermark

/** A new session on the repository. */
const begin = async (
  { reins, url, workspaceId }: Remote,
  given: Given,
  content: string,
  budget: BudgetInput | undefined
) => {
  const { notes, ...repository } = chooseRepository(
    Option.getOrElse(given.repo, () => "."),
    Option.getOrUndefined(given.ref)
  )
  refuseFarPath(repository, url)
  if (!given.json) for (const note of notes) tell(`Note: ${note}`)
  const { id } = await reins.sessions.create({
    workspace_id: workspaceId,
    title: cutText(content.split("\n")[0] ?? content, 80),
    repository: {
      url: repository.url,
      ...(repository.base_ref !== undefined && { base_ref: repository.base_ref }),
      ...(Option.isSome(given.sparse) && { sparse: foldersIn(given.sparse.value) })
    },
    ...(budget !== undefined && { budget }),
    ...(await harnessOf(reins, given))
  })
  return { sessionId: id, after: 0 }
}

/** The folders of a list. A shell that completes names puts a slash at their ends. */
const foldersIn = (list: string): ReadonlyArray<string> =>
  list.split(",").map((folder) => folder.trim().replace(/(?<=[^/])\/$/, ""))

/** The provider and the model that were named. A model alone is one of the default provider, which the API has to be told. */
const harnessOf = async (reins: Remote["reins"], given: Given) => {
  const [provider, model] = [Option.getOrUndefined(given.provider), Option.getOrUndefined(given.model)]
  if (provider === undefined && model === undefined) return {}
  const provider_id = provider ?? chosenProvider((await reins.catalog.listHarnesses()).items, undefined).provider_id
  return { harness: { provider_id, ...(model !== undefined && { model }) } }
}

/** A server of another machine would look for the path in its own files. */
const refuseFarPath = ({ isLocal, url }: Omit<ChosenRepository, "notes">, server: string): void => {
  if (!isLocal || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(new URL(server).hostname)) return
  throw new CommandFailed({
    message: `${url} has no remote that ${server} could reach. Push it somewhere, or name a URL with --repo.`
  })
}

const finish = async (
  { reins }: Remote,
  given: Given,
  view: Display,
  sessionId: string,
  turn: TurnSnapshot | undefined
): Promise<void> => {
  const changeset = turn?.state === "succeeded" ? await changesetOf(reins, sessionId, turn.id) : undefined
  if (!given.json) {
    tellEnd(turn, sessionId)
    if (changeset !== undefined) await showChanges(reins, view, changeset)
  }
  const wanted = changeset !== undefined && !changeset.empty && (await isWanted(given, sessionId))
  const options = { allow: given.allow, branch: Option.getOrUndefined(given.branch) }
  const delivery = wanted ? await deliver(reins, changeset, options) : undefined
  if (delivery !== undefined && !given.json) tellDelivery(delivery)
  const isDelivered = delivery === undefined || delivery.state === "succeeded"
  process.exitCode = isDelivered ? exitCodeOf(turn) : exitCodes.deliveryFailed
  if (given.json) printJsonNow(resultOf(sessionId, turn, changeset, delivery, Number(process.exitCode)))
}

const showChanges = async (reins: Remote["reins"], view: Display, changeset: Changeset): Promise<void> => {
  tellDiagnostics(changeset)
  if (changeset.empty) return tell("The agent changed nothing.")
  view.line("")
  await writeDiff(reins, changeset)
  const { additions, deletions, file_count } = changeset
  tell(`${file_count} file${file_count === 1 ? "" : "s"} changed, +${additions} -${deletions}`)
}

const isWanted = async ({ deliver, json }: Given, sessionId: string): Promise<boolean> => {
  if (deliver) return true
  if (json) return false
  const later = `Deliver it later: reins sessions deliver ${sessionId}`
  if (!isInteractive()) {
    tell(later)
    return false
  }
  try {
    const wanted = await ask.confirmation("Deliver this as a branch of the repository?", true)
    if (!wanted) tell(later)
    return wanted
  } catch (error) {
    if (!(error instanceof Aborted)) throw error
    tell(later)
    return false
  }
}

const resultOf = (
  session_id: string,
  turn: TurnSnapshot | undefined,
  changeset: Changeset | undefined,
  delivery: Delivery | undefined,
  exit_code: number
) => ({
  type: "result",
  session_id,
  exit_code,
  /** Null when it was left running. */
  turn: turn ?? null,
  changeset: changeset ?? null,
  delivery: delivery ?? null
})
