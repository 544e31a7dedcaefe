import { setTimeout as sleep } from "node:timers/promises"
import { ReinsConnectionError, type TurnSnapshot, type TypedEvent } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"
import { MessageReader } from "../terminal/Line.js"
import { tell } from "../terminal/Output.js"
import { Aborted, ask } from "../terminal/Prompts.js"
import { harmless, painter } from "../terminal/Style.js"
import type { Answering } from "./Approvals.js"
import { filesIn, sizeText, withFiles } from "./Attach.js"
import { sendMessage, titleOf } from "./BeginSession.js"
import { keepChoice } from "./Choices.js"
import { askModel } from "./ChooseModel.js"
import {
  changesetBefore,
  changesetOf,
  deliver,
  newestChangeset,
  tellDelivery,
  tellDiagnostics,
  writeDiff
} from "./Deliver.js"
import { type Display, display, follow, tellEnd, tellSummary } from "./Follow.js"
import { completeMessage } from "./MessageWords.js"
import { isClientError, type Remote, sentenceOf } from "./Remote.js"

/** The session that a conversation is about. */
export interface Talked {
  readonly sessionId: string
  /** The event that was shown last. */
  readonly after: number
  /** The repository as the choices of the person know it; null for none. */
  readonly repository: string | null
  readonly ref: string | null
  readonly provider: string
  /** True for one that was made for this conversation and has no title of a person yet. */
  readonly isNew: boolean
}

const help = `  /diff         all that the session has changed
  /deliver      push the changes as a branch
  /model [name] go on with another model
  /approve      allow every tool from now on; /approve off asks you again
  /new          begin a new session on the same repository
  /exit         leave; the session stays
@path attaches a file of this folder, and Tab completes it. A picture is attached by its path.
A line that ends with \\ goes on in the next one.`

/** The commands of a conversation, for its completions. */
const commands = ["/approve", "/deliver", "/diff", "/exit", "/help", "/model", "/new"]

/** The milliseconds between two tries to reach a server that was lost. */
const tryAgainMs = 1000

/** The conversation of a person and an agent. */
export class Conversation {
  private readonly messages = new MessageReader("› ", completeMessage(commands, process.cwd()))
  /** The event before a question that is open, from which a new stream begins so that it is asked again. */
  private questionAt: number | undefined
  private after: number
  /** The model that the person has chosen in this conversation. */
  private model: string | undefined

  constructor(
    private readonly remote: Remote,
    private talked: Talked,
    private answering: Answering,
    private readonly renew: (model: string | undefined) => Promise<Talked>
  ) {
    this.after = talked.after
  }

  /** Takes messages until the person leaves. It tells a refusal of the server, and goes on. */
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
    await this.leave()
  }

  private readonly take = async (text: string): Promise<void> => {
    const [, command = "", rest = ""] = /^(\/[a-z]+)(?:\s+(.*))?$/.exec(text) ?? []
    if (text === "") return
    if (text === "/help") return tell(help)
    if (text === "/diff") return this.show()
    if (text === "/deliver") return this.deliver()
    if (text === "/new") return this.begin()
    if (command === "/model") return this.changeModel(rest.trim())
    if (command === "/approve" && /^(?:|on|off)$/.test(rest.trim())) return this.approve(rest.trim() !== "off")
    await this.say(text)
  }

  private readonly say = async (text: string): Promise<void> => {
    const { reins } = this.remote
    const { isNew, sessionId: session_id } = this.talked
    const files = filesIn(text, process.cwd())
    if (files.length > 0)
      tell(`Attaching ${files.map(({ name, size }) => `${harmless(name)} (${sizeText(size)})`).join(", ")}`)
    const content = await withFiles(reins, session_id, text, files)
    if (isNew) await reins.sessions.update({ session_id, title: titleOf(text) })
    const turnId = await sendMessage(this.remote, { session_id, content }, false, this.keepModel)
    this.talked = { ...this.talked, isNew: false }
    await this.hear(turnId)
  }

  private readonly keepModel = (provider: string, model: string): void => {
    this.model = model
    const { repository } = this.talked
    if (repository !== null) keepChoice({ server: this.remote.url, repository }, { provider, model })
  }

  private readonly changeModel = async (named: string): Promise<void> => {
    const { reins } = this.remote
    const { sessionId: session_id } = this.talked
    const { harness } = await reins.sessions.get({ session_id })
    const model = named === "" ? await askModel(this.remote, harness.provider_id) : named
    await reins.sessions.update({ session_id, model })
    this.keepModel(harness.provider_id, model)
    tell(`The agent goes on with ${harmless(model)}.`)
  }

  private readonly approve = (isAllowed: boolean): void => {
    this.answering = isAllowed ? "allow" : "ask"
    tell(
      isAllowed
        ? "Every tool that the agent asks for is allowed from now on. /approve off asks you again."
        : "The agent's questions come to you again."
    )
  }

  private readonly begin = async (): Promise<void> => {
    const next = await this.renew(this.model)
    await this.leave()
    this.talked = next
    this.after = next.after
    this.questionAt = undefined
  }

  /** Says how to go on. A session in which nothing was said is taken away. */
  private readonly leave = async (): Promise<void> => {
    const { isNew, sessionId: session_id } = this.talked
    if (!isNew) return tell(`Go on with it: reins chat --session ${session_id}`)
    await this.remote.reins.sessions.delete({ session_id }).catch((error: unknown) => {
      // It stays as an empty one.
      if (!isClientError(error)) throw error
    })
  }

  /** Shows a turn to its end, also over a server that goes away and comes back. */
  readonly hear = async (turnId: string): Promise<void> => {
    const view = this.noting(await display(false))
    const { reins, url } = this.remote
    const turn = await this.untilEnd(turnId, view)
    tellEnd(turn, this.talked.sessionId)
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
          sessionId: this.talked.sessionId,
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

  /** Shows what a turn has changed. Changes of earlier turns were shown with those. */
  private readonly showTurn = async ({ id }: TurnSnapshot, view: Display): Promise<void> => {
    const { reins } = this.remote
    const changeset = await changesetOf(reins, this.talked.sessionId, id)
    if (changeset === undefined) return
    const before = await changesetBefore(reins, changeset)
    if (changeset.empty && before === undefined) return
    tellDiagnostics(changeset)
    await writeDiff(reins, changeset, before, () => view.line(""))
  }

  private readonly show = async (): Promise<void> => {
    const changeset = await newestChangeset(this.remote.reins, this.talked.sessionId)
    tellDiagnostics(changeset)
    if (changeset.empty) return tell("The session changed nothing.")
    await writeDiff(this.remote.reins, changeset)
  }

  private readonly deliver = async (): Promise<void> => {
    const changeset = await newestChangeset(this.remote.reins, this.talked.sessionId)
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
