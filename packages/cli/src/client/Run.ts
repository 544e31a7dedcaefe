import { readFileSync } from "node:fs"
import { text as readAll } from "node:stream/consumers"
import { type BudgetInput, type Changeset, functionsOf, type TurnSnapshot } from "@reins/client"
import { choice, flag, type Given, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { Aborted, ask, isInteractive } from "../terminal/Prompts.js"
import type { Answering } from "./Approvals.js"
import {
  beginSession,
  beginSessionOf,
  begun,
  changeModel,
  type FirstMessage,
  refuseAnew,
  sendMessage,
  sessionOptions
} from "./BeginSession.js"
import { budgetOf } from "./Budgets.js"
import { allowOption, changesetOf, deliver, tellDelivery, tellDiagnostics, writeDiff } from "./Deliver.js"
import { type Display, display, exitCodeOf, follow, tellEnd, tellSummary } from "./Follow.js"
import { forgeConnection } from "./ForgeConnection.js"
import { openPage, pageOf } from "./Open.js"
import { openRequest, tellRequest } from "./OpenRequest.js"
import { exitCodes, type Remote, remoteCommand, workspaceOption } from "./Remote.js"
import { sessionNamed, sessionOption } from "./Resolve.js"
import { addSummary, lastWords, type RunEnd, writeOutput } from "./RunReport.js"
import { afterOpening, mergeWords, mustOpen, untilMerged } from "./RunToMerged.js"
import { leaveFunctions, loadTools } from "./Tools.js"

const takes = {
  message: optionalArgument("message", "The task; read from the standard input when absent"),
  ...sessionOptions,
  project: option("project", "Start from this project, in place of a repository", { value: "slug" }),
  session: sessionOption("Go on in this session instead of a new one"),
  deliver: flag("deliver", "Deliver the branch without asking"),
  request: flag("request", "Deliver the branch, open a merge request, and say what it waits for"),
  care: choice("care", ["fix", "propose"], "Then have checks, conflicts and comments seen to, or a change proposed"),
  merge: choice("merge", mergeWords, "Then wait until it is merged: when all checks pass, or the required ones"),
  branch: option("branch", "The name of the branch that is delivered", { value: "branch" }),
  allow: allowOption,
  tools: option("tools", "A module of JavaScript whose functions the agent may call", { value: "module" }),
  "result-schema": option("result-schema", "A file with the JSON Schema of the result", { value: "file" }),
  approve: flag("approve", "Allow every tool that the agent asks for, without asking you"),
  web: flag("web", "Open the page of the session in the browser, too"),
  detach: flag("detach", "Print the id of the session, and leave the turn to itself"),
  output: option("output", "Write the last words of the agent into this file", { value: "file" }),
  summary: option("summary", "Add a report in Markdown to this file", { value: "file" }),
  json: flag("json", "One line of JSON for each event, and a last one with the result"),
  workspace: workspaceOption
}

type Options = Given<typeof takes>

/** `reins run` */
export const run = remoteCommand({
  takes,
  details:
    "With --merge it ends once the request is merged, closed, or left to a person. Ctrl-C leaves that to the server.\n" +
    "Exits with 2 when the turn failed, and with 3 when it was interrupted.\n" +
    "Exits with 4 when the delivery or its merge request failed, or was not merged.\n" +
    "Exits with 5 when the turn or the merge was left to the server, 130 when the turn was cancelled, and 1 for all else.",
  examples: [
    ['reins run "Make the failing test pass."', "Work on the repository of this folder"],
    ['reins run "Fix the login" --repo acme/shop --agent codex --deliver', "Work on another one, and push a branch"],
    ['reins run "Fix the sum" --request --care fix --merge when-green', "All the way until it is merged"]
  ],
  run: (given, connect) => runMessage(given, connect)
})

const runMessage = async (given: Options, connect: (workspace?: string) => Promise<Remote>): Promise<void> => {
  const content = await messageOf(given)
  if (content.trim() === "") throw new CommandFailed({ message: "The message is empty. Say what the agent is to do." })
  refuseUnwaited(given)
  refuseAnew(given)
  mustOpen(given)
  const budget = given.budget === undefined ? undefined : budgetOf(given.budget)
  const tools = given.tools === undefined ? undefined : await loadTools(given.tools)
  const result_schema = given["result-schema"] === undefined ? undefined : schemaIn(given["result-schema"])
  const remote = await connect(given.workspace)
  const message = { content, ...(tools && { tools: functionsOf(tools) }), ...(result_schema && { result_schema }) }
  const { after, sessionId, turnId } = await begin(remote, given, message, budget)
  if (given.web) await openPage(pageOf(remote.url, sessionId))
  if (given.detach) return printBegun(given, sessionId, turnId)
  const view = await display(given.json)
  const ended = new AbortController()
  const { reins, workspaceId: workspace_id } = remote
  const serving = tools && reins.serveTools({ workspace_id, session_id: sessionId, tools, signal: ended.signal })
  serving?.catch((error: unknown) => tell(`The calls of functions are not answered: ${String(error)}`))
  try {
    const turn = await follow({
      reins,
      turnId,
      sessionId,
      after,
      display: view,
      answering: answeringOf(given),
      interrupt: "cancel"
    })
    await finish(remote, given, view, sessionId, turn)
  } finally {
    ended.abort()
    if (tools !== undefined) leaveFunctions()
  }
}

/** Begins the turn, in a new session or in the one that was named. Tells the session. */
const begin = async (
  remote: Remote,
  given: Options,
  message: FirstMessage,
  budget: BudgetInput | undefined
): Promise<{ readonly sessionId: string; readonly turnId: string; readonly after: number }> => {
  const say = (id: string) => (given.json || given.detach ? undefined : tell(`Session ${id}`))
  if (given.session === undefined) {
    const { id, turn_id } = await newSession(remote, given, message)
    say(id)
    return { sessionId: id, turnId: begun(turn_id), after: 0 }
  }
  const session_id = await sessionNamed(remote, given.session)
  const after = await watermark(remote, session_id)
  await changeModel(remote, session_id, given)
  say(session_id)
  const turnId = await sendMessage(remote, { session_id, ...message, ...(budget && { budget }) }, given.json)
  return { sessionId: session_id, turnId, after }
}

const newSession = (remote: Remote, given: Options, message: FirstMessage) => {
  const shown = { title: message.content, isQuiet: given.json }
  return given.project === undefined
    ? beginSession(remote, given, shown, message)
    : beginSessionOf(remote, given.project, given, shown, message)
}

/** A run that ends before its turn has nothing to deliver or to tell, and answers nobody. */
const refuseUnwaited = (given: Options): void => {
  if (given.project !== undefined && given.session !== undefined)
    throw new CommandFailed({ message: "A session has its project already. Leave out --project or --session." })
  const names = [
    "deliver",
    "request",
    "care",
    "merge",
    "approve",
    "tools",
    "output",
    "summary",
    "result-schema"
  ] as const
  const needing = names.filter((name) => given[name] !== undefined && given[name] !== false)
  if (given.detach && needing.length > 0)
    throw new CommandFailed({ message: `--detach does not go with ${needing.map((name) => `--${name}`).join(", ")}.` })
}

const printBegun = ({ json }: Options, session_id: string, turn_id: string): void =>
  json ? printJsonNow({ type: "begun", session_id, turn_id }) : void process.stdout.write(`${session_id}\n`)

/** The schema that a file holds. */
const schemaIn = (file: string): { readonly [name: string]: unknown } => {
  const schema = jsonIn(file)
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw new CommandFailed({ message: `The schema in ${file} is no JSON object. Write one, as {"type":"object"}.` })
  return { ...schema }
}

const jsonIn = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (cause) {
    const [reason] = String(cause instanceof Error ? cause.message : cause).split("\n")
    throw new CommandFailed({ message: `The schema in ${file} could not be read: ${reason}` })
  }
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

const finish = async (
  remote: Remote,
  given: Options,
  view: Display,
  sessionId: string,
  turn: TurnSnapshot | undefined
): Promise<void> => {
  const { reins, url } = remote
  const changeset = turn?.state === "succeeded" ? await changesetOf(reins, sessionId, turn.id) : undefined
  if (!given.json) {
    tellEnd(turn, sessionId)
    if (changeset !== undefined) await showChanges(reins, view, changeset)
    tellSummary(turn, url)
  }
  const wanted = changeset !== undefined && !changeset.empty && (await isWanted(given, sessionId))
  const connection =
    wanted && given.request
      ? await forgeConnection(reins, await reins.sessions.get({ session_id: sessionId }))
      : undefined
  const options = { allow: given.allow, branch: given.branch, connection }
  const delivery = wanted ? await deliver(reins, changeset, options) : undefined
  if (delivery !== undefined && !given.json) tellDelivery(delivery)
  const request =
    given.request && delivery?.state === "succeeded"
      ? await openRequest(remote, delivery, await lastWords(reins, turn), afterOpening(given))
      : undefined
  if (request !== undefined && !given.json) tellRequest(request, given.merge !== undefined)
  const isDelivered = (delivery === undefined || delivery.state === "succeeded") && request?.state !== "failed"
  process.exitCode = isDelivered ? exitCodeOf(turn) : exitCodes.deliveryFailed
  const watched = await untilMerged(reins, request, given)
  if (watched !== undefined) process.exitCode = watched.exitCode
  const end = { sessionId, turn, changeset, delivery, request: watched?.request ?? request, care: watched?.care }
  if (given.output !== undefined) await writeOutput(reins, given.output, end)
  if (given.summary !== undefined) await addSummary(given.summary, url, end)
  const isTyped = given["result-schema"] !== undefined && turn !== undefined
  const result = isTyped ? ((await reins.turns.get({ turn_id: turn.id })).result?.value ?? null) : undefined
  if (result !== undefined && !given.json) printJsonNow(result)
  if (given.json)
    printJsonNow({
      ...resultOf(end, Number(process.exitCode)),
      ...(result !== undefined && { result })
    })
}

const showChanges = async (reins: Remote["reins"], view: Display, changeset: Changeset): Promise<void> => {
  tellDiagnostics(changeset)
  if (changeset.empty) return tell("The agent changed nothing.")
  view.line("")
  await writeDiff(reins, changeset)
  const { additions, deletions, file_count } = changeset
  tell(`${file_count} file${file_count === 1 ? "" : "s"} changed, +${additions} -${deletions}`)
}

const isWanted = async ({ deliver, json, request }: Options, sessionId: string): Promise<boolean> => {
  if (deliver || request) return true
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

const resultOf = ({ care, changeset, delivery, request, sessionId, turn }: RunEnd, exit_code: number) => ({
  type: "result",
  session_id: sessionId,
  exit_code,
  /** Null when it was left running. */
  turn: turn ?? null,
  changeset: changeset ?? null,
  delivery: delivery ?? null,
  merge_request: request ?? null,
  care: care ?? null
})
