import { ReinsApiError } from "@reins/client"
import { z } from "zod"
import { anId, answer, type Caller, refusal, refusalOf, tool } from "./Tool.js"

const requestKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,150}$/)
  .optional()
  .describe("A key of your own. The same call with the same key takes effect once, so that you can repeat it safely.")

const onceFor = ({ keySpace }: Caller, key: string | undefined) =>
  key === undefined ? {} : { idempotencyKey: `mcp:${keySpace}:${key}` }

const message = z.string().min(1).max(200_000)

export const startSession = tool({
  name: "start_session",
  title: "Start a session",
  description:
    "Has a coding agent work on a repository in a working tree of its own. Name a project or the URL of a repository; with neither it starts empty. " +
    "Answers at once. Call wait with the session_id to follow it.",
  operations: ["sessions.create", "catalog.listModels"],
  scope: "act",
  marks: { destructiveHint: false, openWorldHint: false },
  input: {
    message: message.describe("The task for the agent, with all that it needs to know"),
    project_id: anId.optional().describe("A project, as list_projects gives it"),
    repository_url: z.string().max(2000).optional().describe("The URL of a git repository, in place of a project"),
    ref: z.string().max(500).optional().describe("The branch or tag to start from; only with repository_url"),
    provider_id: z.string().max(100).optional().describe("The agent, such as `alpha`; the default when absent"),
    model: z
      .string()
      .max(200)
      .optional()
      .describe("The model; that of the workspace when absent. Only with provider_id"),
    title: z.string().max(500).optional(),
    max_cost_usd: z.number().positive().optional().describe("The most US dollars that the session may spend"),
    request_key: requestKey
  },
  run: async (caller, input, { startTask }) => {
    const { max_cost_usd, message, model, project_id, provider_id, ref, repository_url, request_key, title } = input
    if (project_id !== undefined && repository_url !== undefined)
      return refusal("invalid: Name a project or a repository, not both.")
    if (ref !== undefined && repository_url === undefined)
      return refusal("invalid: `ref` needs `repository_url`. A project names its own branch.")
    if (model !== undefined && provider_id === undefined) return refusal("invalid: `model` needs `provider_id`.")
    const workspace_id = await caller.workspaceId()
    const creating = caller.reins.sessions.create(
      {
        workspace_id,
        message,
        labels: { door: "mcp" },
        ...(project_id !== undefined && { project_id }),
        ...(repository_url !== undefined && {
          repository: { url: repository_url, ...(ref !== undefined && { base_ref: ref }) }
        }),
        ...(provider_id !== undefined && { harness: { provider_id, ...(model !== undefined && { model }) } }),
        ...(title !== undefined && { title }),
        ...(max_cost_usd !== undefined && { budget: { max_cost_usd } })
      },
      onceFor(caller, request_key)
    )
    const made = await creating.catch((error: unknown) => {
      if (error instanceof ReinsApiError && error.code === "model_required")
        return modelsOf(caller, workspace_id, error.details["provider_id"])
      throw error
    })
    if ("isError" in made) return made
    if (startTask !== undefined && made.turn_id !== undefined)
      return startTask({ tool: "start_session", turn: made.turn_id, after: 0, made: 0 })
    return answer({
      session_id: made.id,
      turn_id: made.turn_id ?? null,
      console_url: `${caller.consoleUrl}/sessions/${made.id}`
    })
  }
})

/** The models that a refusal names. */
const mostModels = 30

/** Tells the models of a provider, so that the next call can name one. */
const modelsOf = async ({ reins }: Caller, workspace_id: string, provider: unknown) => {
  const provider_id = String(provider)
  const again = `model_required: Call it again with provider_id "${provider_id}" and`
  try {
    const { items } = await reins.catalog.listModels({ workspace_id, provider_id })
    const names = items.map(({ id }) => id)
    const left = names.length - mostModels
    const more = left <= 0 ? "" : ` There are ${left} more.`
    return failed(`${again} one of these as model: ${names.slice(0, mostModels).join(", ")}.${more}`)
  } catch (error) {
    const { content } = refusalOf(error)
    const why = content.map((block) => (block.type === "text" ? block.text : "")).join(" ")
    return failed(`${again} a model. They cannot be listed: ${why}`)
  }
}

const failed = (text: string) => ({ ...refusal(text), isError: true })

export const sendMessage = tool({
  name: "send_message",
  title: "Send a message",
  description: "Sends the agent of a session its next message. Call wait with `after` set to `after` of the answer.",
  operations: ["messages.send"],
  scope: "act",
  marks: { destructiveHint: false, openWorldHint: false },
  input: {
    session_id: anId.describe("The id of the session"),
    message: message.describe("The message for the agent"),
    routing: z
      .enum(["queue", "steer", "interrupt", "note"])
      .optional()
      .describe(
        "`queue` (the default) begins a turn of its own; `steer` goes into the running turn, where the agent takes it"
      ),
    request_key: requestKey
  },
  run: async (caller, { message, request_key, routing, session_id }, { startTask }) => {
    const sent = await caller.reins.messages.send(
      { session_id, content: message, ...(routing !== undefined && { routing }) },
      onceFor(caller, request_key)
    )
    const { event_watermark: after, turn_id } = sent
    if (startTask !== undefined && turn_id !== undefined)
      return startTask({ tool: "send_message", turn: turn_id, after, made: after })
    return answer({ session_id, turn_id: turn_id ?? null, after })
  }
})

export const cancelTurn = tool({
  name: "cancel_turn",
  title: "Cancel a turn",
  description: "Stops what an agent does. Its changes so far stay in the session.",
  operations: ["turns.cancel"],
  scope: "act",
  marks: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: { turn_id: anId.describe("The turn, as wait gives it") },
  run: async ({ reins }, { turn_id }) => {
    await reins.turns.cancel({ turn_id })
    return answer({ turn_id, state: (await reins.turns.get({ turn_id })).state })
  }
})
