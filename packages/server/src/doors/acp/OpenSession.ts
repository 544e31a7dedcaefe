import {
  type AgentContext,
  type ClientCapabilities,
  type ContentBlock,
  methods,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  type StopReason
} from "@agentclientprotocol/sdk"
import {
  type Interaction,
  type Reins,
  ReinsApiError,
  type Session,
  type TurnSnapshot,
  type TypedEvent
} from "@reins/client"
import type { EditorMachine } from "./EditorMachine.js"
import { offeredCommands, ownCommandOf, runOwnCommand } from "./OwnCommands.js"
import { Pace } from "./Pace.js"
import { makePaths, type Paths } from "./Paths.js"
import { messageOf, typedText } from "./Prompt.js"
import { Questions } from "./Questions.js"
import { refusalOf } from "./Refusals.js"
import { merged } from "./Replay.js"
import type { Settings } from "./Settings.js"
import { SessionUpdates } from "./Updates.js"
import { UsageUpdates } from "./UsageUpdates.js"
import { wordsUpdate } from "./Words.js"

export interface Editor {
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly folder: string
  /** Undefined for an editor on another machine than the door. */
  readonly machine: EditorMachine | undefined
}

interface Waiting {
  readonly end: (turn: TurnSnapshot) => void
  readonly fail: (error: unknown) => void
}

/** A session that an editor has open: it follows the log, and turns prompts into messages. It keeps nothing that the log does not have. */
export class OpenSession {
  readonly id: string
  private readonly paths: Paths
  private readonly updates: SessionUpdates
  private readonly questions: Questions
  private readonly pace: Pace
  private readonly left = new AbortController()
  private readonly mine = new Set<string>()
  private readonly sending = new Set<Promise<unknown>>()
  private readonly waiting = new Map<string, Waiting>()
  private readonly ended = new Map<string, TurnSnapshot>()
  /** The turns of this editor that have not ended, and those that it has cancelled. */
  private readonly own = new Set<string>()
  private readonly cancelled = new Set<string>()
  private readonly pending = new Map<string, Interaction>()
  private isHeld: boolean
  private failure: { readonly error: unknown } | undefined
  private written: Promise<void> = Promise.resolve()
  private said = 0
  /** The last event whose updates were sent. */
  private seen = 0
  /** Those who wait until an event was shown. */
  private readonly reading = new Map<() => void, number>()

  constructor(
    private readonly reins: Reins,
    private readonly editor: Editor & { readonly consoleUrl: string },
    session: Session,
    readonly settings: Settings,
    /** The dollars that its turns have cost before it is followed; null for unknown. */
    spent: number | null
  ) {
    this.id = session.id
    this.isHeld = session.activity === "attention"
    this.paths = makePaths(session.id, editor.folder, editor.machine)
    const isPrepared = session.workspace.state === "ready"
    const commands = offeredCommands(editor.machine)
    const usage = new UsageUpdates(spent)
    this.updates = new SessionUpdates(this.paths, (id) => this.mine.has(id), isPrepared, commands, usage)
    this.pace = new Pace((update) => this.notify(update))
    this.questions = new Questions({ ...editor, reins, paths: this.paths, say: this.say, callOf: this.updates.call })
  }

  /** Follows the session from an event on. */
  readonly follow = (after: number): void => {
    this.send([this.updates.commands([])])
    void this.read(after, undefined).catch(this.lose)
  }

  /** Shows the past of the session up to an event, and gives the way to go on from it, which the editor's answer has to come before. */
  readonly replay = async (upTo: number): Promise<() => void> => {
    void this.send([this.updates.commands([])])
    let goOn: () => void = () => undefined
    const answered = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await new Promise<void>((replayed, fail) => {
      const gone = () => fail(new RequestError(-32603, "The session was closed in the editor."))
      this.read(0, { upTo, replayed, answered }).then(gone, (error: unknown) => {
        fail(error)
        this.lose(error)
      })
    })
    return goOn
  }

  /** Asks again what an editor before was asked. */
  readonly askPending = async (): Promise<void> => {
    const asked = await this.reins.interactions.list({ session_id: this.id, state: "pending" }).all()
    for (const interaction of asked) void this.questions.ask(interaction)
  }

  readonly prompt = async (prompt: ReadonlyArray<ContentBlock>, cancelling: AbortSignal): Promise<PromptResponse> => {
    const command = ownCommandOf(typedText(prompt))
    if (command !== undefined) {
      const { folder, machine } = this.editor
      const place = { reins: this.reins, sessionId: this.id, folder, machine }
      this.say(await runOwnCommand(place, command))
      await this.written
      return { stopReason: "end_turn" }
    }
    if (this.isHeld) await this.acknowledge()
    const turnId = await this.sendMessage(prompt)
    const cancel = () => void this.cancelTurn(turnId)
    if (cancelling.aborted) cancel()
    else cancelling.addEventListener("abort", cancel, { once: true })
    try {
      const turn = await this.endOf(turnId)
      await this.caughtUp()
      await this.written
      return { stopReason: this.stopReason(turn) }
    } finally {
      cancelling.removeEventListener("abort", cancel)
      this.own.delete(turnId)
      this.cancelled.delete(turnId)
    }
  }

  /** Cancels the turns that this editor has begun. */
  readonly cancel = async (): Promise<void> => {
    await Promise.allSettled(this.sending)
    await Promise.all([...this.own].map(this.cancelTurn))
  }

  /** Stops to follow. The session goes on. */
  readonly leave = (): void => {
    this.left.abort()
    this.questions.close()
    this.pace.close()
    for (const { fail } of this.waiting.values())
      fail(new RequestError(-32603, "The session was closed in the editor."))
    this.reached(Number.POSITIVE_INFINITY)
  }

  /** Tells the options as they are now. */
  readonly tellOptions = (): void =>
    void this.send([{ sessionUpdate: "config_option_update", configOptions: this.settings.options() }])

  /** Tells the mode as it is now, for editors that know modes and no options. */
  readonly tellMode = (): void => {
    const state = this.settings.modeState()
    if (state !== undefined)
      void this.send([{ sessionUpdate: "current_mode_update", currentModeId: state.currentModeId }])
  }

  /** Shows a line of the door itself. */
  readonly say = (line: string): void => {
    this.said += 1
    this.send([wordsUpdate("text", `${line}\n`, `door-${this.said}`)])
  }

  readonly send = (updates: ReadonlyArray<SessionUpdate>): Promise<void> => {
    for (const update of updates) if (!this.pace.holds(update)) this.notify(update)
    return this.written
  }

  private notify(update: SessionUpdate): void {
    // An editor that is gone is told of nothing, and its connection ends the door.
    const sent = this.editor.client.notify(methods.client.session.update, { sessionId: this.id, update })
    this.written = sent.catch(() => undefined)
  }

  private async read(
    after: number,
    past: { readonly upTo: number; readonly replayed: () => void; readonly answered: Promise<void> } | undefined
  ): Promise<void> {
    let isPast = past !== undefined
    let shown: Array<SessionUpdate> = []
    const stream = this.reins.sessions.stream(
      { session_id: this.id, after, onDelta: (delta) => void (isPast || this.send(this.updates.delta(delta))) },
      { signal: this.left.signal }
    )
    for await (const event of stream) {
      // The answer to a message tells which of the messages is of this editor.
      if (event.type === "message.accepted" && this.sending.size > 0) await Promise.allSettled(this.sending)
      const updates = this.updates.take(event)
      this.note(event)
      if (past === undefined || !isPast) {
        await this.send(updates)
        this.take(event)
        this.reached(event.seq)
        continue
      }
      shown.push(...updates)
      const isAtEnd = event.seq >= past.upTo
      if (!isAtEnd && endOf(event) === undefined) continue
      await this.send(merged(shown))
      shown = []
      if (!isAtEnd) continue
      isPast = false
      this.reached(event.seq)
      past.replayed()
      await past.answered
      for (const interaction of this.pending.values()) void this.questions.ask(interaction)
    }
  }

  /** The changes of a turn are events behind its end. */
  private async caughtUp(): Promise<void> {
    const { event_watermark } = await this.reins.sessions.get({ session_id: this.id })
    if (this.seen >= event_watermark || this.failure !== undefined) return
    await new Promise<void>((reach) => this.reading.set(reach, event_watermark))
  }

  private reached(seq: number): void {
    this.seen = seq
    for (const [reach, upTo] of this.reading)
      if (seq >= upTo) {
        this.reading.delete(reach)
        reach()
      }
  }

  /** What the door has to know of the past too. */
  private note(event: TypedEvent): void {
    if (event.type === "turn.interrupted") this.isHeld = true
    if (event.type === "turn.acknowledged") this.isHeld = false
    if (event.type === "agent.options_listed") this.settings.listed(event.payload.options)
    if (event.type === "turn.action_required" && event.payload.interaction.state === "pending")
      this.pending.set(event.payload.interaction.id, event.payload.interaction)
    if (event.type === "turn.action_changed") this.pending.set(event.payload.interaction.id, event.payload.interaction)
    if (event.type === "turn.action_resolved") this.pending.delete(event.payload.interaction.id)
  }

  /** Acts on an event that comes now, after its updates were sent. */
  private take(event: TypedEvent): void {
    if (event.type === "agent.options_listed") this.tellOptions()
    if (event.type === "turn.action_required" && event.payload.interaction.state === "pending")
      void this.questions.ask(event.payload.interaction)
    if (event.type === "turn.action_changed") void this.questions.askAnew(event.payload.interaction)
    if (event.type === "turn.action_resolved") this.questions.withdraw(event.payload.interaction.id)
    const turn = endOf(event)
    if (turn === undefined) return
    const waiting = this.waiting.get(turn.id)
    if (waiting !== undefined) waiting.end(turn)
    else if (this.sending.size > 0) this.ended.set(turn.id, turn)
  }

  private readonly lose = (error: unknown): void => {
    if (this.left.signal.aborted) return
    this.failure = { error: refusalOf(error) }
    for (const { fail } of this.waiting.values()) fail(this.failure.error)
    this.reached(Number.POSITIVE_INFINITY)
  }

  /** An interrupted turn holds the queue until somebody has looked. The person who writes on has read its sentence here. */
  private async acknowledge(): Promise<void> {
    for await (const { actions, id } of this.reins.turns.list({ session_id: this.id, state: "interrupted" }))
      if (actions.includes("acknowledge")) await this.reins.turns.acknowledge({ turn_id: id })
  }

  private async sendMessage(prompt: ReadonlyArray<ContentBlock>): Promise<string> {
    const source = { ...this.editor, reins: this.reins, sessionId: this.id, paths: this.paths }
    const content = await messageOf(source, prompt)
    const sent = this.reins.messages.send({ session_id: this.id, content }).then(({ message, turn_id }) => {
      this.mine.add(message.id)
      if (turn_id === undefined) throw new RequestError(-32603, "The server took the message and began no turn.")
      this.own.add(turn_id)
      return turn_id
    })
    this.sending.add(sent)
    try {
      return await sent
    } finally {
      this.sending.delete(sent)
    }
  }

  private endOf(turnId: string): Promise<TurnSnapshot> {
    const turn = this.ended.get(turnId)
    this.ended.clear()
    if (turn !== undefined) return Promise.resolve(turn)
    if (this.failure !== undefined) return Promise.reject(this.failure.error)
    return new Promise<TurnSnapshot>((end, fail) => this.waiting.set(turnId, { end, fail })).finally(() =>
      this.waiting.delete(turnId)
    )
  }

  private readonly cancelTurn = async (turn_id: string): Promise<void> => {
    this.cancelled.add(turn_id)
    try {
      await this.reins.turns.cancel({ turn_id })
    } catch (error) {
      // A turn that has ended meanwhile cannot be cancelled.
      if (!(error instanceof ReinsApiError) || error.status !== 409)
        this.say(`The turn could not be cancelled: ${error}`)
    }
  }

  private stopReason({ id, outcome, reason, reason_message, state }: TurnSnapshot): StopReason {
    if (state === "cancelled" || this.cancelled.has(id)) return "cancelled"
    if (state === "succeeded") return agentReasons.find((each) => each === outcome?.stop_reason) ?? "end_turn"
    const sentence = reason_message ?? `The turn ${state === "failed" ? "failed" : "was interrupted"}.`
    throw new RequestError(-32603, sentence, { reason, turn_id: id })
  }
}

const agentReasons = ["max_tokens", "refusal", "max_turn_requests"] as const

const endOf = (event: TypedEvent): TurnSnapshot | undefined => {
  switch (event.type) {
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
      return event.payload.turn
    default:
      return undefined
  }
}
