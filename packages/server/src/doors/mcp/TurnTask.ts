import { inputRequired } from "@modelcontextprotocol/server"
import type { Interaction, Turn } from "@reins/client"
import { choiceOf, formOf } from "./Asking.js"
import { isObject } from "./Input.js"
import { isAnsweredByOption, personalQuestion } from "./PersonTools.js"
import { changesetOf, hasEnded } from "./Standing.js"
import type { TurnTask } from "./TaskId.js"
import { completed, type TaskState, working } from "./TaskState.js"
import { answer, type Caller, type PersonalQuestion, refusalOf } from "./Tool.js"
import { waited, waitedFor } from "./Wait.js"

const words: Readonly<Partial<Record<Turn["state"], string>>> = {
  queued: "The turn waits in the queue.",
  preparing: "The session is being prepared.",
  running: "The agent works.",
  requires_action: "The agent waits for an answer.",
  cancelling: "The turn is being cancelled."
}

const told = ({ reason_message, state }: Turn): string => reason_message ?? words[state] ?? `The turn is ${state}.`

/** A task that follows a turn to its end. A question that its client cannot show ends it, as it ends the call of a client without tasks. */
export const stateOfTurn = async (caller: Caller, task: TurnTask): Promise<TaskState> => {
  const { reins } = caller
  const turn = await reins.turns.get({ turn_id: task.turn })
  if (hasEnded(turn)) return endedState(caller, task, turn)
  const isLate = task.until !== null && Date.now() >= task.until
  if (isLate || (await hasAskedElsewhere(caller, task, turn))) {
    const now = { session_id: turn.session_id, after: task.after, seconds: 0 }
    return completed(answer({ ...own(caller, task, turn), ...(await waited(caller, now)) }), turn.started_at)
  }
  const questions = await questionsIn(caller, task, turn)
  const asked = Object.entries(questions).map(([key, { question }]) => [key, inputRequired.elicit(formOf(question))])
  if (asked.length === 0) return working(told(turn), turn.started_at)
  return {
    status: "input_required",
    statusMessage: told(turn),
    since: turn.started_at,
    inputRequests: Object.fromEntries(asked)
  }
}

/** A wait of which the turn was cancelled has its result, and so has a task that a question had ended before. Other work was cancelled itself. */
const endedState = async (caller: Caller, task: TurnTask, turn: Turn): Promise<TaskState> => {
  if (turn.state === "cancelled" && task.tool !== "wait" && !(await hasAskedElsewhere(caller, task, turn)))
    return { status: "cancelled", statusMessage: told(turn), since: turn.finished_at }
  const changeset = await changesetOf(caller.reins, turn)
  if (changeset?.state === "capturing") return working("The changes of the turn are being sealed.", turn.finished_at)
  const result = await waitedFor(caller.reins, turn, task.after, task.tool !== "wait").then(
    (fields) => answer({ ...own(caller, task, turn), ...fields }),
    refusalOf
  )
  return completed(result, turn.finished_at)
}

/** The fields that the tool itself answers with. */
const own = ({ consoleUrl }: Caller, { after, tool }: TurnTask, { id, session_id }: Turn): Record<string, unknown> => {
  if (tool === "wait") return {}
  return {
    session_id,
    turn_id: id,
    ...(tool === "start_session" ? { console_url: `${consoleUrl}/sessions/${session_id}` } : { after })
  }
}

/** True once the turn has asked what the person cannot be asked within the task. It stays true, as the task has ended then. */
const hasAskedElsewhere = async ({ isUnattended, reins }: Caller, task: TurnTask, turn: Turn): Promise<boolean> => {
  if (turn.started_at === null) return false
  const asksHere = task.forms && !isUnattended
  const { id: turn_id, session_id } = turn
  const types = "turn.action_required"
  const { items } = await reins.sessions.listEvents({ session_id, turn_id, types, after: task.made, limit: 1000 })
  return items.some(
    (event) => event.type === "turn.action_required" && !(asksHere && isAnsweredByOption(event.payload.interaction))
  )
}

interface OpenQuestion {
  readonly asked: Interaction
  readonly question: PersonalQuestion
}

/** The open questions of a turn, by keys. A question that changes gets another key, so that no answer to the earlier one counts. */
const questionsIn = async (
  caller: Caller,
  { forms }: TurnTask,
  { id, session_id, state }: Turn
): Promise<Readonly<Record<string, OpenQuestion>>> => {
  if (!forms || caller.isUnattended || state !== "requires_action") return {}
  const { items } = await caller.reins.interactions.list({ session_id, state: "pending", limit: 200 })
  const open: Record<string, OpenQuestion> = {}
  for (const asked of items) {
    if (asked.turn_id !== id || !isAnsweredByOption(asked)) continue
    const { digest } = asked.subject ?? {}
    const { question } = await personalQuestion(caller, asked)
    open[digest === undefined ? asked.id : `${asked.id} ${digest}`] = { asked, question }
  }
  return open
}

/** Takes the answers of the person. Gives the sentence that refuses one of them; undefined when all were taken. */
export const answerTurn = async (
  caller: Caller,
  task: TurnTask,
  given: Readonly<Record<string, unknown>>
): Promise<string | undefined> => {
  const turn = await caller.reins.turns.get({ turn_id: task.turn })
  const open = await questionsIn(caller, task, turn)
  const answers: Array<{ readonly interaction_id: string; readonly answer: string; readonly seen?: string }> = []
  for (const [key, { asked, question }] of Object.entries(open)) {
    const response = Object.hasOwn(given, key) ? given[key] : undefined
    // A person who declines has not decided, and the question stays open.
    if (!isObject(response) || response["action"] !== "accept") continue
    const { content } = response
    const choice = choiceOf(isObject(content) ? content["choice"] : undefined, question.choices)
    if (choice === undefined) return "The answer of the person is none of the options. The question stays open."
    const { seen } = question
    answers.push({ interaction_id: asked.id, answer: choice.id, ...(seen !== undefined && { seen }) })
  }
  for (const each of answers) await caller.reins.interactions.answer(each)
  return undefined
}

/** Cancels the turn of a task. Gives the sentence that refuses it; undefined when it is being cancelled, or has ended. */
export const cancelTurnOf = async (
  { reins }: Caller,
  { tool, turn: turn_id }: TurnTask
): Promise<string | undefined> => {
  if (hasEnded(await reins.turns.get({ turn_id }))) return undefined
  if (tool === "wait") return `This task only waits, and its turn goes on. cancel_turn with ${turn_id} stops it.`
  await reins.turns.cancel({ turn_id })
  return undefined
}
