import { text as readAll } from "node:stream/consumers"
import type { BudgetInput, Changeset, Delivery, TurnSnapshot } from "@reins/client"
import { cutText } from "@reins/core/base/CutText"
import { flag, type Given, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { Aborted, ask, isInteractive } from "../terminal/Prompts.js"
import type { Answering } from "./Approvals.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { allowOption, changesetOf, deliver, tellDelivery, tellDiagnostics, writeDiff } from "./Deliver.js"
import { type Display, display, exitCodeOf, follow, tellEnd } from "./Follow.js"
import { agentOptions, chosenProvider, wantedAgent } from "./Providers.js"
import { exitCodes, type Remote, remoteCommand, workspaceOption } from "./Remote.js"
import { type ChosenRepository, chooseRepository } from "./Repository.js"

const takes = {
  message: optionalArgument("message", "The task; read from the standard input when absent"),
  repo: option("repo", "A folder, a URL, or owner/name on GitHub (the working directory)", { value: "repository" }),
  ref: option("ref", "The branch, tag or commit to start from (that of the folder)"),
  sparse: option("sparse", "The folders that the agent gets: apps/web,packages/ui (all)", { value: "folders" }),
  session: option("session", "Go on in this session instead of a new one", { value: "id" }),
  ...agentOptions,
  model: option("model", "The model (the preferred one of the connection)", { value: "model" }),
  budget: option("budget", `The limit of the session: ${budgetForms}`, { value: "amount" }),
  deliver: flag("deliver", "Deliver the branch without asking"),
  branch: option("branch", "The name of the branch that is delivered", { value: "branch" }),
  allow: allowOption,
  approve: flag("approve", "Allow every tool that the agent asks for, without asking you"),
  json: flag("json", "One line of JSON for each event, and a last one with the result"),
  workspace: workspaceOption
}

type Options = Given<typeof takes>

/** `reins run` */
export const run = remoteCommand({
  takes,
  details:
    "Exits with 2 when the turn failed, 3 when it was interrupted, 4 when the delivery did not succeed,\n" +
    "5 when it was left running, 130 when it was cancelled, and 1 for all else.",
  examples: [
    ['reins run "Make the failing test pass."', "Work on the repository of this folder"],
    ['reins run "Fix the login" --repo acme/shop --agent codex --deliver', "Work on another one, and push a branch"]
  ],
  run: (given, connect) => runMessage(given, connect)
})

const runMessage = async (given: Options, connect: (workspace?: string) => Promise<Remote>): Promise<void> => {
  const content = await messageOf(given)
  if (content.trim() === "") throw new CommandFailed({ message: "The message is empty. Say what the agent is to do." })
  const budget = given.budget === undefined ? undefined : budgetOf(given.budget)
  const remote = await connect(given.workspace)
  const view = display(given.json)
  const begun =
    given.session !== undefined
      ? { sessionId: given.session, after: await watermark(remote, given.session) }
      : await begin(remote, given, content, budget)
  if (!given.json) tell(`Session ${begun.sessionId}`)
  const ofTurn = given.session !== undefined && budget !== undefined ? { budget } : {}
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

const answeringOf = ({ approve, json }: Options): Answering => {
  if (approve) return "allow"
  if (json) return "leave"
  return isInteractive() ? "ask" : "refuse"
}

const messageOf = async ({ message }: Options): Promise<string> => {
  if (message !== undefined) return message
  if (process.stdin.isTTY) return ""
  return (await readAll(process.stdin)).trim()
}

const watermark = async ({ reins }: Remote, session_id: string): Promise<number> =>
  (await reins.sessions.get({ session_id })).event_watermark

/** A new session on the repository. */
const begin = async (
  { reins, url, workspaceId }: Remote,
  given: Options,
  content: string,
  budget: BudgetInput | undefined
) => {
  const { notes, ...repository } = chooseRepository(given.repo ?? ".", given.ref)
  refuseFarPath(repository, url)
  if (!given.json) for (const note of notes) tell(`Note: ${note}`)
  const { id } = await reins.sessions.create({
    workspace_id: workspaceId,
    title: cutText(content.split("\n")[0] ?? content, 80),
    repository: {
      url: repository.url,
      ...(repository.base_ref !== undefined && { base_ref: repository.base_ref }),
      ...(given.sparse !== undefined && { sparse: foldersIn(given.sparse) })
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
const harnessOf = async (reins: Remote["reins"], given: Options) => {
  const { model } = given
  const wanted = wantedAgent(given)
  if (wanted === undefined && model === undefined) return {}
  const { provider_id } = chosenProvider((await reins.catalog.listHarnesses()).items, wanted)
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
  given: Options,
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
  const options = { allow: given.allow, branch: given.branch }
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

const isWanted = async ({ deliver, json }: Options, sessionId: string): Promise<boolean> => {
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
