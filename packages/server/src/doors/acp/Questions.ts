import {
  type AgentContext,
  type ClientCapabilities,
  type ElicitationPropertySchema,
  methods,
  type RequestPermissionRequest,
  type ToolCallContent,
  type ToolCallUpdate
} from "@agentclientprotocol/sdk"
import {
  askedText,
  escapeUnseen,
  type FormField,
  gapSentence,
  type Interaction,
  inputOfDescription,
  type Reins,
  ReinsApiError,
  shownName,
  type ToolPayload
} from "@reins/client"
import type { Paths } from "./Paths.js"
import { text, toolCall, toolCallId } from "./ToolUpdates.js"

interface Asking {
  readonly reins: Reins
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly paths: Paths
  /** The call of a tool as the editor was told of it. */
  readonly callOf: (id: string) => ToolPayload | undefined
  /** The address of the console. */
  readonly consoleUrl: string
  /** Shows a line in the conversation. */
  readonly say: (line: string) => void
}

interface Answer {
  readonly answer: string
  readonly seen?: string
  readonly content?: Readonly<Record<string, string | number | boolean | ReadonlyArray<string>>>
}

/** Puts what agents ask to the person at the editor. It takes no option by itself: an unanswered question stays open. */
export class Questions {
  private readonly open = new Map<string, AbortController>()

  constructor(private readonly asking: Asking) {}

  readonly ask = async (interaction: Interaction): Promise<void> => {
    if (this.open.has(interaction.id)) return
    const gone = new AbortController()
    this.open.set(interaction.id, gone)
    const { reins, say } = this.asking
    try {
      const given = await this.answerOf(interaction, gone.signal)
      if (given !== undefined && !gone.signal.aborted)
        await reins.interactions.answer({ interaction_id: interaction.id, ...given })
    } catch (error) {
      // It was answered elsewhere, or the editor is gone. An editor that refuses the request itself cannot show the question.
      if (gone.signal.aborted) return
      say(error instanceof ReinsApiError ? `The answer was not taken: ${error.message}` : this.elsewhere(interaction))
    }
  }

  /** Asks again, because the agent has changed what it asks for. */
  readonly askAnew = (interaction: Interaction): Promise<void> => {
    this.withdraw(interaction.id)
    this.open.delete(interaction.id)
    return this.ask(interaction)
  }

  /** Takes back a question that was answered elsewhere, or that nobody may answer any more. */
  readonly withdraw = (id: string): void => this.open.get(id)?.abort()

  readonly close = (): void => {
    for (const gone of this.open.values()) gone.abort()
  }

  private answerOf(interaction: Interaction, gone: AbortSignal): Promise<Answer | undefined> {
    const { elicitation } = this.asking.capabilities
    if (interaction.kind === "form" && interaction.form !== null)
      return elicitation?.form != null ? this.form(interaction, interaction.form, gone) : this.tell(interaction)
    if (interaction.kind === "link" && interaction.url !== null)
      return elicitation?.url != null ? this.link(interaction, interaction.url, gone) : this.tell(interaction)
    // A program answers the call of a function.
    if (interaction.kind === "tool_call") return this.tell(interaction)
    return this.permission(interaction, gone)
  }

  private async tell(interaction: Interaction): Promise<undefined> {
    this.asking.say(this.elsewhere(interaction))
  }

  private elsewhere({ session_id, title }: Interaction): string {
    return `The agent asks: ${escapeUnseen(title)}. Answer at ${this.asking.consoleUrl}/sessions/${session_id}`
  }

  private async permission(interaction: Interaction, gone: AbortSignal): Promise<Answer | undefined> {
    const { kind, options, subject } = interaction
    const all = options.map(({ id, kind, name }) => ({ optionId: id, name, kind: permissionKind(kind) }))
    const isWhole = kind !== "approval" || subject?.complete === true
    const shown = isWhole ? all : [...all.filter((option) => !isLeave(option)), lookCloser]
    const first = await this.choose(interaction, shown, gone)
    // A person looks once more at an approval that is not shown whole, and may then allow it.
    const answer = first === lookCloser.optionId && !isWhole ? await this.choose(interaction, all, gone) : first
    return answer === undefined ? undefined : { answer, ...(subject !== null && { seen: subject.digest }) }
  }

  private async choose(
    interaction: Interaction,
    options: RequestPermissionRequest["options"],
    gone: AbortSignal
  ): Promise<string | undefined> {
    const toolCall = this.subject(interaction)
    const asked: RequestPermissionRequest = { sessionId: interaction.session_id, toolCall, options }
    const { outcome } = await this.asking.client.request(methods.client.session.requestPermission, asked, {
      cancellationSignal: gone,
      stopWaitingOnCancel: true
    })
    return outcome.outcome === "selected" && "optionId" in outcome ? String(outcome.optionId) : undefined
  }

  /** The subject that a person decides about: the call with its edits and its command. Anything else is told with words. */
  private subject(interaction: Interaction): ToolCallUpdate {
    const { callOf, paths } = this.asking
    const { budget_of, description, id, kind, subject, title, tool_id, turn_id } = interaction
    const callId = tool_id === null ? id : toolCallId(turn_id, tool_id)
    const call = callOf(callId)
    const shown = call === undefined ? {} : toolCall(paths, callId, call)
    const raise = kind === "budget" ? `\nRaise it: reins budget ${budget_of ?? "ID"} AMOUNT` : ""
    const edits = subject?.edits ?? []
    const gap = subject === null ? undefined : gapSentence(subject)
    // The diffs say all but what is missing.
    const words =
      edits.length > 0 && subject?.command === null ? (gap ?? "") : paths.inText(askedText(interaction)) + raise
    const content: ReadonlyArray<ToolCallContent> = [
      ...edits.map(({ new_text, old_text, path }) => ({
        type: "diff" as const,
        path: paths.toEditor(path),
        oldText: old_text,
        newText: new_text ?? ""
      })),
      ...(words.trim() === "" ? [] : [text(words.trim())])
    ]
    const input = description === null ? undefined : inputOfDescription(description)
    return {
      ...(input !== undefined && { rawInput: paths.inValue(input) }),
      ...shown,
      toolCallId: callId,
      title: shownName(paths.inText(title)),
      ...(content.length > 0 &&
        (subject !== null || call === undefined || call.diffs.length === 0) && { content: [...content] }),
      ...(subject?.command != null && {
        rawInput: { command: subject.command, ...(subject.cwd !== null && { cwd: paths.toEditor(subject.cwd) }) }
      })
    }
  }

  private async form(interaction: Interaction, fields: ReadonlyArray<FormField>, gone: AbortSignal) {
    const { id: _, session_id, title } = interaction
    const given = await this.asking.client.request(
      methods.client.elicitation.create,
      {
        mode: "form",
        sessionId: session_id,
        message: title,
        requestedSchema: {
          type: "object",
          properties: Object.fromEntries(fields.map((field) => [field.name, propertyOf(field)])),
          required: fields.filter(({ required }) => required).map(({ name }) => name)
        }
      },
      { cancellationSignal: gone, stopWaitingOnCancel: true }
    )
    return answerOfElicitation(interaction, given)
  }

  private async link(interaction: Interaction, url: string, gone: AbortSignal) {
    const given = await this.asking.client.request(
      methods.client.elicitation.create,
      {
        mode: "url",
        sessionId: interaction.session_id,
        message: interaction.title,
        elicitationId: interaction.id,
        url
      },
      { cancellationSignal: gone, stopWaitingOnCancel: true }
    )
    return answerOfElicitation(interaction, given)
  }
}

/** A decline takes the option that refuses. A cancel leaves the question open, as the end of the turn decides. */
const answerOfElicitation = (
  { options }: Interaction,
  given: { readonly action: string; readonly content?: unknown }
): Answer | undefined => {
  if (given.action !== "accept" && given.action !== "decline") return undefined
  const option = options.find(({ kind }) => kind === given.action)
  if (option === undefined) return undefined
  // Boundary: the protocol's package has checked the values.
  const content = given.content as Answer["content"]
  return { answer: option.id, ...(given.action === "accept" && content != null && { content }) }
}

const isLeave = ({ kind }: { readonly kind: string }): boolean => kind.startsWith("allow")

/** The option that leads to those that allow something that is not shown whole. */
const lookCloser = { optionId: "reins.look-closer", name: "Allow it without seeing all …", kind: "allow_once" as const }

const permissionKinds = ["allow_once", "allow_always", "reject_once", "reject_always"] as const

/** The kind of an option. Another word of an agent counts by its beginning, and as a refusal where that is unclear. */
const permissionKind = (kind: string): (typeof permissionKinds)[number] =>
  permissionKinds.find((each) => each === kind) ?? (/^(?:allow|accept|yes)/.test(kind) ? "allow_once" : "reject_once")

const propertyOf = ({ choices, description, title, type }: FormField): ElicitationPropertySchema => {
  const shared = { title, ...(description !== null && { description }) }
  const listed = choices.map((choice) => ({ const: choice.value, title: choice.title }))
  if (type === "choice") return { ...shared, type: "string", oneOf: listed }
  if (type === "choices") return { ...shared, type: "array", items: { anyOf: listed } }
  return { ...shared, type: type === "text" ? "string" : type }
}
