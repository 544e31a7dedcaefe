import type { SessionUpdate } from "@agentclientprotocol/sdk"
import {
  type AgentPlan,
  type Message,
  type MessageDelta,
  ToolCalls,
  type ToolPayload,
  type TypedEvent
} from "@reins/client"
import type { offeredCommands } from "./OwnCommands.js"
import type { Paths } from "./Paths.js"
import { Preparation } from "./Preparation.js"
import { toolCallId, toolUpdate } from "./ToolUpdates.js"
import type { UsageUpdates } from "./UsageUpdates.js"
import { Words, wordsUpdate } from "./Words.js"

type Updates = ReadonlyArray<SessionUpdate>
type OwnCommands = ReturnType<typeof offeredCommands>

/** Turns the events of a session into what an editor shows. It takes each event once, in order. */
export class SessionUpdates {
  private readonly words = new Words()
  private readonly tools = new ToolCalls()
  /** The calls of the turn that runs, by the ids that the editor knows. */
  private readonly begun = new Map<string, ToolPayload>()
  private readonly preparation: Preparation

  constructor(
    private readonly paths: Paths,
    /** True for a message that this editor sent, and shows already. */
    private readonly isMine: (messageId: string) => boolean,
    isPrepared: boolean,
    private readonly ownCommands: OwnCommands,
    private readonly usage: UsageUpdates
  ) {
    this.preparation = new Preparation(isPrepared)
  }

  /** A call of the turn that runs, with all that was told of it. */
  readonly call = (id: string): ToolPayload | undefined => this.begun.get(id)

  readonly delta = (delta: MessageDelta): Updates => this.words.delta(delta)

  readonly take = (event: TypedEvent): Updates => [
    ...this.preparation.take(event),
    ...this.updatesOf(event),
    ...this.usage.take(event)
  ]

  /** Commands of Reins come first, those of the agent after them. */
  readonly commands = (
    commands: ReadonlyArray<{ readonly name: string; readonly description: string; readonly hint: string | null }>
  ): SessionUpdate => ({
    sessionUpdate: "available_commands_update",
    availableCommands: [
      ...this.ownCommands,
      ...commands.filter(({ name }) => this.ownCommands.every((own) => own.name !== name))
    ].map(({ description, hint, name }) => ({ name, description, ...(hint !== null && { input: { hint } }) }))
  })

  private updatesOf(event: TypedEvent): Updates {
    switch (event.type) {
      case "message.accepted":
        return this.isMine(event.payload.message.id) ? [] : userWords(event.payload.message, this.paths)
      case "message.part_added":
      case "message.part_updated":
        return this.words.logged(event.payload)
      case "tool.started":
      case "tool.updated":
      case "tool.completed":
        return this.tool(event)
      case "plan.updated":
        return plan(event.payload)
      case "agent.commands_listed":
        return [this.commands(event.payload.commands)]
      case "agent.titled":
        return event.payload.title === null
          ? []
          : [{ sessionUpdate: "session_info_update", title: event.payload.title }]
      case "changeset.ready": {
        const { additions, deletions, empty, file_count } = event.payload
        const count = `${file_count} file${file_count === 1 ? "" : "s"} changed, +${additions} -${deletions}`
        return empty
          ? []
          : [
              wordsUpdate(
                "text",
                `\n\n_${count}. ${changesetHelp(this.ownCommands)}_\n`,
                event.changeset_id ?? event.id
              )
            ]
      }
      case "turn.succeeded":
      case "turn.failed":
      case "turn.cancelled":
      case "turn.interrupted":
        this.words.endTurn()
        this.begun.clear()
        return []
      default:
        return []
    }
  }

  private tool(event: Extract<TypedEvent, { readonly type: `tool.${string}` }>): Updates {
    const tool = this.tools.take(event)
    if (tool === undefined) return []
    const id = toolCallId(event.turn_id, tool.tool_id)
    const isFirst = !this.begun.has(id)
    this.begun.set(id, tool)
    this.words.begin()
    return [toolUpdate(this.paths, id, tool, isFirst)]
  }
}

const changesetHelp = (commands: OwnCommands): string => {
  const apply = commands.some(({ name }) => name === "apply") ? "`/apply` brings them into this folder, " : ""
  return `\`/diff\` shows the changes, ${apply}\`/deliver\` pushes them as a branch.`
}

const userWords = ({ content, id, role }: Message, { toEditor }: Paths): Updates =>
  role !== "user"
    ? []
    : content.map((block) => ({
        sessionUpdate: "user_message_chunk",
        messageId: id,
        content:
          block.type === "text"
            ? { type: "text", text: block.text }
            : block.place === "attachment"
              ? { type: "text", text: `(attached: ${block.path})` }
              : { type: "resource_link", name: block.path, uri: `file://${encodeURI(toEditor(block.path))}` }
      }))

const priorities = ["high", "medium", "low"] as const
const standings = ["pending", "in_progress", "completed"] as const

/** This version of the protocol has one plan of steps and no plans that are texts. */
const plan = ({ entries, removed, text }: AgentPlan): Updates =>
  text !== null && !removed
    ? []
    : [
        {
          sessionUpdate: "plan",
          entries: (removed ? [] : entries).map(({ content, priority, status }) => ({
            content,
            priority: priorities.find((each) => each === priority) ?? "medium",
            status: standings.find((each) => each === status) ?? "pending"
          }))
        }
      ]
