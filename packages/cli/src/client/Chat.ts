import { setTimeout as sleep } from "node:timers/promises"
import { ReinsConnectionError, type TurnSnapshot, type TypedEvent } from "@reins/client"
import { flag, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { MessageReader } from "../terminal/Line.js"
import { tell } from "../terminal/Output.js"
import { Aborted, ask, isInteractive } from "../terminal/Prompts.js"
import { painter } from "../terminal/Style.js"
import type { Answering } from "./Approvals.js"
import { beginSession, changeModel, refuseAnew, sendMessage, sessionOptions } from "./BeginSession.js"
import { changesetOf, deliver, newestChangeset, tellDelivery, tellDiagnostics, writeDiff } from "./Deliver.js"
import { type Display, display, follow, tellEnd, tellSummary } from "./Follow.js"
import { isClientError, type Remote, remoteCommand, sentenceOf, workspaceOption } from "./Remote.js"

/** `reins chat` */
export const chat = remoteCommand({
  takes: {
    message: optionalArgument("message", "The first message"),
    ...sessionOptions,
    session: option("session", "Go on with this session instead of a new one", { value: "id" }),
    approve: flag("approve", "Allow every tool that the agent asks for, without asking you"),
    workspace: workspaceOption
  },
  details:
    "Ctrl-C cancels the turn that runs. /diff shows all changes, /deliver pushes them as a branch, /exit or Ctrl-D leaves.\n" +
    "The session stays; `reins chat --session ID` goes on with it.",
  examples: [
    ["reins chat", "Talk about the repository of this folder"],
    ["reins chat --session sess_01h…", "Go on with a session"]
  ],
  run: async (given, connect) => {
    if (!isInteractive())
      throw new CommandFailed({ message: 'reins chat needs a terminal. Without one: reins run "the task"' })
    refuseAnew(given)
    if (given.session !== undefined && given.budget !== undefined)
      throw new CommandFailed({
        message: `Change the limit of a session by itself: reins budget ${given.session} ${given.budget}`
      })
    const remote = await connect(given.workspace)
    const sessionId =
      given.session ??
      (await beginSession(remote, given, { title: given.message ?? "Conversation", isQuiet: false })).id
    if (given.session !== undefined) await changeModel(remote, sessionId, given)
    tell(`Session ${sessionId}. /help shows what else you can type.`)
    const { active_turn_id, event_watermark } = await remote.reins.sessions.get({ session_id: sessionId })
    const talk = new Conversation(remote, sessionId, given.approve ? "allow" : "ask", event_watermark)
    if (active_turn_id !== null) await talk.hear(active_turn_id)
    await talk.hold(given.message)
  }
})

const help = `  /diff      all that the session has changed
  /deliver   push the changes as a branch
  /exit      leave; the session stays
A line that ends with \\ goes on in the next one.`

/** The milliseconds between two tries to reach a server that was lost. */
const tryAgainMs = 1000

/** The conversation of a person and an agent. */
class Conversation {
  private readonly messages = new MessageReader("› ")
  /** The event before a question that is open, from which a new stream begins so that it is asked again. */
  private questionAt: number | undefined

  constructor(
    private readonly remote: Remote,
    private readonly sessionId: string,
    private readonly answering: Answering,
    /** The event that was shown last. */
    private after: number
  ) {}

  /** Takes messages until the person leaves. What the server refuses is told, and the conversation goes on. */
  readonly hold = async (first: string | undefined): Promise<void> => {
    for (let text = first; ; text = undefined) {
      const said = text ?? (await this.messages.next())
      if (said === undefined || said.trim() === "/exit") break
      try {
        await this.take(said.trim())
      } catch (error) {
        if (error instanceof CommandFailed) tell(error.message)
        else if (isClientError(error)) tell(sentenceOf(error, this.remote.url))
        else throw error
      }
    }
    tell(`Go on with it: reins chat --session ${this.sessionId}`)
  }

  private readonly take = async (text: string): Promise<void> => {
    if (text === "") return
    if (text === "/help") return tell(help)
    if (text === "/diff") return this.show()
    if (text === "/deliver") return this.deliver()
    const turnId = await sendMessage(this.remote, { session_id: this.sessionId, content: text }, false)
    await this.hear(turnId)
  }

  /** Shows a turn to its end, also over a server that goes away and comes back. */
  readonly hear = async (turnId: string): Promise<void> => {
    const view = this.noting(display(false))
    const { reins, url } = this.remote
    const turn = await this.untilEnd(turnId, view)
    tellEnd(turn, this.sessionId)
    if (turn?.state === "succeeded") await this.showTurn(turn, view)
    tellSummary(turn, url)
    if (turn?.state !== "interrupted" || !(await isConfirmed("Go on with the conversation?"))) return
    await reins.turns.acknowledge({ turn_id: turnId })
  }

  private readonly untilEnd = async (turnId: string, view: Display): Promise<TurnSnapshot | undefined> => {
    const { reins } = this.remote
    let isTold = false
    for (;;) {
      try {
        return await follow({
          reins,
          sessionId: this.sessionId,
          turnId,
          after: this.questionAt ?? this.after,
          display: view,
          answering: this.answering,
          interrupt: "cancel"
        })
      } catch (error) {
        if (!(error instanceof ReinsConnectionError)) throw error
        if (!isTold) tell(`The server does not answer. It is asked again each second; Ctrl-C leaves.`)
        isTold = true
        await sleep(tryAgainMs)
      }
    }
  }

  /** Remembers which event was shown last. */
  private readonly noting = (view: Display): Display => ({
    ...view,
    delta: view.delta,
    line: view.line,
    endLine: view.endLine,
    event: (event: TypedEvent) => {
      this.after = event.seq
      if (event.type === "turn.action_required") this.questionAt ??= event.seq - 1
      if (event.type === "turn.action_resolved") this.questionAt = undefined
      view.event(event)
    }
  })

  private readonly showTurn = async ({ id }: TurnSnapshot, view: Display): Promise<void> => {
    const { reins } = this.remote
    const changeset = await changesetOf(reins, this.sessionId, id)
    if (changeset === undefined || changeset.empty) return
    tellDiagnostics(changeset)
    view.line("")
    await writeDiff(reins, changeset)
  }

  private readonly show = async (): Promise<void> => {
    const changeset = await newestChangeset(this.remote.reins, this.sessionId)
    tellDiagnostics(changeset)
    if (changeset.empty) return tell("The session changed nothing.")
    await writeDiff(this.remote.reins, changeset)
  }

  private readonly deliver = async (): Promise<void> => {
    const changeset = await newestChangeset(this.remote.reins, this.sessionId)
    if (changeset.empty) return tell("The session changed nothing, so there is nothing to deliver.")
    tellDelivery(await deliver(this.remote.reins, changeset, {}))
  }
}

const isConfirmed = async (question: string): Promise<boolean> => {
  try {
    return await ask.confirmation(question, true)
  } catch (error) {
    if (!(error instanceof Aborted)) throw error
    tell(painter(process.stderr)("dim", "The session waits until somebody has looked at the turn."))
    return false
  }
}
