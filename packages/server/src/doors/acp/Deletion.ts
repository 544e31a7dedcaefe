import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  RequestError,
  type RequestPermissionRequest
} from "@agentclientprotocol/sdk"
import { escapeUnseen, type Reins, ReinsApiError, type Session } from "@reins/client"

interface Deleting {
  readonly reins: Reins
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  /** Aborted when the editor takes its request back. */
  readonly signal: AbortSignal
}

const choices = { delete: "Delete it for good", keep: "Keep it" } as const

const working: ReadonlySet<Session["activity"]> = new Set(["queued", "running", "requires_action"])

/** Deletes a session for good, once its person has confirmed that. The protocol has a session that is not there any more succeed. */
export const deleteSession = async (deleting: Deleting, session_id: string): Promise<void> => {
  const { reins } = deleting
  const session = await reins.sessions.get({ session_id }).catch((error: unknown) => {
    if (error instanceof ReinsApiError && error.code === "not_found") return undefined
    throw error
  })
  if (session === undefined) return
  if (working.has(session.activity))
    throw kept("A turn of it works. Cancel the turn, and delete the session then.", "turn_active")
  if (!session.actions.includes("delete"))
    throw kept(
      "It works for another session and goes with that one, or these credentials may not delete it.",
      "not_allowed"
    )
  const answer = await ask(deleting, session)
  if (answer === undefined)
    throw kept(
      "This editor cannot ask you whether it is to go. Delete it in the console, or open it here first.",
      "not_asked"
    )
  if (answer !== "delete") throw kept("You have not confirmed that it is to go.", "declined")
  await reins.sessions.delete({ session_id })
}

const kept = (why: string, reason: string): RequestError =>
  new RequestError(-32603, `The session was not deleted. ${why}`, { reason })

/** The answer of the person; undefined where the editor cannot ask. An editor shows a form without the session that it is about. */
const ask = async ({ capabilities, client, signal }: Deleting, { id, title }: Session): Promise<string | undefined> => {
  const name = title === null ? id : `"${escapeUnseen(title)}"`
  const message = `Delete the session ${name} for good? Its conversation, its files and its changes go, with the sessions that work for it. What was delivered stays.`
  const waiting = { cancellationSignal: signal, stopWaitingOnCancel: true }
  const { requestId } = client
  try {
    if (capabilities.elicitation?.form != null && requestId != null) {
      const given = await client.request(
        methods.client.elicitation.create,
        { mode: "form", requestId, message, requestedSchema: formSchema },
        waiting
      )
      return isDelete(given) ? "delete" : "keep"
    }
    const { outcome } = await client.request(methods.client.session.requestPermission, permission(id, message), waiting)
    return outcome.outcome === "selected" && "optionId" in outcome ? String(outcome.optionId) : "keep"
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

const isDelete = ({ action, content }: { readonly action: string; readonly content?: unknown }): boolean =>
  action === "accept" &&
  typeof content === "object" &&
  content !== null &&
  "choice" in content &&
  content.choice === "delete"

const formSchema = {
  type: "object" as const,
  properties: {
    choice: {
      type: "string" as const,
      title: "Your answer",
      oneOf: Object.entries(choices).map(([value, title]) => ({ const: value, title }))
    }
  },
  required: ["choice"]
}

const permission = (sessionId: string, message: string): RequestPermissionRequest => ({
  sessionId,
  toolCall: {
    toolCallId: `delete-${sessionId}`,
    title: "Delete the session for good",
    kind: "delete",
    status: "pending",
    content: [{ type: "content", content: { type: "text", text: message } }]
  },
  options: [
    { optionId: "keep", name: choices.keep, kind: "reject_once" },
    { optionId: "delete", name: choices.delete, kind: "allow_once" }
  ]
})
