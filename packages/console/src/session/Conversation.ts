import {
  type AgentMedia,
  type AgentPlan,
  type Artifact,
  type ChangesetPayload,
  type DeliveryPayload,
  type Event,
  type Interaction,
  type MergeRequestPayload,
  type Message,
  type MessageDelta,
  type RepositoryFilter,
  ToolCalls,
  type ToolPayload,
  type TurnSnapshot,
  type Usage
} from "@reins/client"
import { forPeople } from "../api/Sentences.js"
import { planIn } from "../tools/ToolLine.js"
import { count } from "../words/Words.js"

/** One thing of the conversation, in the order in which they began. Items are replaced when they change. */
export type Item = { readonly key: string; readonly at: string } & (
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "words"; readonly words: "text" | "reasoning"; readonly text: string; readonly sealed: boolean }
  | { readonly kind: "tool"; readonly tool: ToolPayload; readonly ended: string | null }
  | { readonly kind: "plan"; readonly plan: AgentPlan }
  | { readonly kind: "media"; readonly media: AgentMedia }
  | { readonly kind: "question"; readonly interaction: Interaction }
  | { readonly kind: "turn"; readonly turn: TurnSnapshot }
  | { readonly kind: "changeset"; readonly id: string; readonly changeset: ChangesetPayload }
  | { readonly kind: "delivery"; readonly id: string; readonly delivery: DeliveryPayload }
  | { readonly kind: "merge_request"; readonly mergeRequest: MergeRequestPayload }
  | { readonly kind: "artifact"; readonly artifact: Artifact; readonly isDeleted: boolean }
  | { readonly kind: "notice"; readonly tone: "calm" | "ask" | "bad"; readonly text: string }
)

type NewItem = Item extends infer I ? (I extends Item ? Omit<I, "at"> : never) : never

/** Says what the agent sees of the files of a filter, since Reins runs none. */
const filterNote = ({ files, filter }: RepositoryFilter): string =>
  filter === "lfs"
    ? `${count(files, "file")} of the repository ${files === 1 ? "is" : "are"} kept by Git LFS. The agent sees pointers, not contents.`
    : `${count(files, "file")} of the repository ${files === 1 ? "has" : "have"} the filter “${filter}”. The agent sees what is stored, because Reins runs no filter.`

/** The conversation of a session, as its events tell it. */
export class Conversation {
  readonly items: Array<Item> = []
  /** The turns by their ids. */
  readonly turns = new Map<string, TurnSnapshot>()
  /** The part of its context that the agent has used so far; null until it says so. */
  context: { readonly used: number | null; readonly size: number | null } | null = null
  usage: Usage | null = null
  /** The newest plan of the agent. */
  plan: AgentPlan | undefined
  /** The commands that the agent knows. */
  commands: ReadonlyArray<{ readonly name: string; readonly description: string; readonly hint: string | null }> = []
  private readonly places = new Map<string, number>()
  private readonly tools = new ToolCalls()
  private readonly logged = new Map<string, number>()

  /** The turn that was changed last and is not waiting in the queue behind another one. */
  get turn(): TurnSnapshot | undefined {
    const all = [...this.turns.values()]
    return all.find(({ state }) => !ends.has(state) && state !== "queued") ?? all.at(-1)
  }

  /** The questions that wait for an answer. */
  get open(): ReadonlyArray<Interaction> {
    return this.items.flatMap((item) =>
      item.kind === "question" && item.interaction.state === "pending" ? [item.interaction] : []
    )
  }

  readonly take = (event: Event): void => {
    const at = event.recorded_at
    const put = (item: NewItem) => this.put({ ...item, at } as Item)
    const turn = event.turn_id ?? ""
    switch (event.type) {
      case "message.accepted":
        put({ kind: "message", key: event.payload.message.id, message: event.payload.message })
        break
      case "message.part_added":
      case "message.part_updated": {
        const { message_id, part } = event.payload
        const key = `${message_id}.${part.part_key}`
        if (part.kind === "media") put({ kind: "media", key, media: part.content })
        if (part.kind !== "text" && part.kind !== "reasoning") break
        // Live words overtake the events of tools that began before them. The log has the order.
        if (!this.logged.has(key)) this.drop(key)
        const before = part.mode === "append" ? (this.logged.get(key) ?? 0) : 0
        const known = this.find(key)
        const kept = known?.kind === "words" ? known.text.slice(0, before) : ""
        this.logged.set(key, before + part.content.length)
        put({ kind: "words", key, words: part.kind, text: kept + part.content, sealed: part.sealed })
        break
      }
      case "tool.started":
      case "tool.updated":
      case "tool.completed": {
        const tool = this.tools.take(event)
        if (tool !== undefined) this.takeTool(event, tool, put)
        break
      }
      case "plan.updated":
        this.plan = event.payload
        put({ kind: "plan", key: `${turn}.plan.${event.payload.plan_id ?? ""}`, plan: event.payload })
        break
      case "turn.action_required":
      case "turn.action_changed":
      case "turn.action_resolved":
        put({ kind: "question", key: event.payload.interaction.id, interaction: event.payload.interaction })
        this.turns.set(turn, event.payload.turn)
        break
      case "turn.queued":
      case "turn.preparing":
      case "turn.started":
      case "turn.cancel_requested":
        this.turns.set(turn, event.payload.turn)
        break
      case "turn.succeeded":
      case "turn.failed":
      case "turn.cancelled":
      case "turn.interrupted":
      case "turn.acknowledged":
        this.turns.set(turn, event.payload.turn)
        put({ kind: "turn", key: turn, turn: event.payload.turn })
        break
      default:
        this.takeOther(event, put)
    }
  }

  /** Some agents write their plan down with a tool. It is shown as the plan, not as the call. */
  private takeTool(event: Event, tool: ToolPayload, put: (item: NewItem) => void): void {
    const turn = event.turn_id ?? ""
    const entries = planIn(tool.input)
    if (entries !== undefined && tool.state !== "failed") {
      const steps = entries.map((entry) => ({ ...entry, priority: "" }))
      this.plan = { plan_id: null, entries: steps, text: null, uri: null, removed: false }
      this.drop(`${turn}.tool.${tool.tool_id}`)
      put({ kind: "plan", key: `${turn}.todos`, plan: this.plan })
      return
    }
    const ended = event.type === "tool.completed" ? event.recorded_at : null
    put({ kind: "tool", key: `${turn}.tool.${tool.tool_id}`, tool, ended })
  }

  private takeOther(event: Event, put: (item: NewItem) => void): void {
    const note = (text: string, tone: "calm" | "ask" | "bad" = "calm") =>
      put({ kind: "notice", key: event.id, text, tone })
    switch (event.type) {
      case "changeset.capture_requested":
      case "changeset.ready":
      case "changeset.failed":
        if (event.payload.empty) break
        put({
          kind: "changeset",
          key: event.changeset_id ?? "",
          id: event.changeset_id ?? "",
          changeset: event.payload
        })
        break
      case "delivery.requested":
      case "delivery.progressed":
      case "delivery.succeeded":
      case "delivery.failed":
      case "delivery.blocked":
      case "delivery.cancelled":
        put({ kind: "delivery", key: event.delivery_id ?? "", id: event.delivery_id ?? "", delivery: event.payload })
        break
      case "merge_request.requested":
      case "merge_request.opened":
      case "merge_request.merge_requested":
      case "merge_request.merge_failed":
      case "merge_request.merged":
      case "merge_request.closed":
      case "merge_request.failed":
        put({ kind: "merge_request", key: event.payload.merge_request_id, mergeRequest: event.payload })
        break
      case "artifact.published":
        put({ kind: "artifact", key: event.payload.artifact.id, artifact: event.payload.artifact, isDeleted: false })
        break
      case "artifact.deleted": {
        const known = this.find(event.payload.artifact_id)
        if (known?.kind === "artifact") put({ ...known, isDeleted: true })
        break
      }
      case "agent.notice_given":
        note([event.payload.title, event.payload.description].filter(Boolean).join(": "))
        break
      case "diagnostic.reported":
        if (/^(?:tools_not_offered|foreign_servers|skill_name_taken)$/.test(event.payload.kind))
          note(event.payload.line, "ask")
        break
      case "agent.commands_listed":
        this.commands = event.payload.commands
        break
      case "usage.observed":
        this.usage = event.payload.usage
        this.context = { used: event.payload.context_used, size: event.payload.context_size }
        break
      case "executor.lost":
        note("The agent has lost its place to run.", "bad")
        break
      case "workspace.restored":
        for (const filter of event.payload.filters ?? []) note(filterNote(filter))
        break
      case "workspace.applied":
        note(`A changeset was ${event.payload.dry_run ? "tried" : "applied"} here.`)
        break
      case "workspace.apply_conflicted":
        note(`A changeset does not fit: ${event.payload.conflicts.join(", ")}.`, "ask")
        break
      case "delegation.created":
        note(`A part of the work was delegated as “${event.payload.role}”.`)
        break
      case "delegation.succeeded":
      case "delegation.failed":
      case "delegation.cancelled":
        note(
          `The delegation “${event.payload.role}” ${event.payload.state}. ${forPeople(event.payload.reason_message ?? "")}`.trim()
        )
        break
      case "session.linked":
        note("Another session goes on from here with another agent.")
        break
    }
  }

  /** Words as the agent says them. They stay until the log has them. */
  readonly say = ({ kind, message_id, offset, part_key, text }: MessageDelta): void => {
    const key = `${message_id}.${part_key}`
    const known = this.find(key)
    const said = known?.kind === "words" ? known.text : ""
    // Words that were missed come with the log.
    if (offset > said.length || (known?.kind === "words" && known.sealed)) return
    const at = known?.at ?? new Date().toISOString()
    this.put({ kind: "words", key, words: kind, text: said.slice(0, offset) + text, sealed: false, at })
  }

  private find(key: string): Item | undefined {
    const place = this.places.get(key)
    return place === undefined ? undefined : this.items[place]
  }

  /** Takes an item out that turned out to be part of another one. */
  private drop(key: string): void {
    const place = this.places.get(key)
    if (place === undefined) return
    this.items.splice(place, 1)
    this.places.delete(key)
    for (const [each, at] of this.places) if (at > place) this.places.set(each, at - 1)
  }

  private put(item: Item): void {
    const place = this.places.get(item.key)
    if (place === undefined) {
      this.places.set(item.key, this.items.length)
      this.items.push(item)
    } else this.items[place] = { ...item, at: this.items[place]?.at ?? item.at }
  }
}

/** The states that a turn stays in. */
export const ends: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled", "interrupted"])
