// The bot: what it makes of the calls of Linear, and what it writes of the events of Reins. It keeps nothing: the label of a session names its
// issue, so that a restart loses nothing.

import { ReinsApiError } from "@reins/client"
import { LinearRefusal } from "./api.mjs"

/** The label of a session that names the id of its issue. */
const label = "linear"

const types = ["turn.action_required", "turn.succeeded", "turn.failed", "turn.cancelled", "turn.interrupted"]

/** True when an issue has just got the label: it was made with it, or did not have it before. */
const hasGot = ({ action, data, type, updatedFrom }, wanted) => {
  const found = type === "Issue" ? data.labels?.find(({ name }) => name === wanted) : undefined
  if (found === undefined) return false
  const before = updatedFrom?.labelIds
  return action === "create" || (action === "update" && before !== undefined && !before.includes(found.id))
}

/** The first characters of a text, for the title of a session. */
const short = (text) => Array.from(text).slice(0, 80).join("")

const taskOf = ({ description, identifier, title, url }) =>
  [`Work on the issue ${identifier}, ${url}.`, title, description].filter(Boolean).join("\n\n")

export const makeBot = ({ linear, project, reins, wanted }) => {
  const { id: project_id, workspace_id } = project

  /** The session of an issue. The same key never makes two. */
  const sessionOf = async ({ id, identifier, title }) => {
    for await (const session of reins.sessions.list({ workspace_id, label: `${label}=${id}` })) return session
    const input = { workspace_id, project_id, title: short(`${identifier}: ${title}`), labels: { [label]: id } }
    return reins.sessions.create(input, { idempotencyKey: `linear/${id}` })
  }

  const onCall = async (call, delivery) => {
    if (!hasGot(call, wanted)) return
    const session = await sessionOf(call.data)
    // Linear sends a call again when the answer comes late. The key makes it one message.
    const message = { session_id: session.id, content: taskOf(call.data) }
    await reins.messages.send(message, { idempotencyKey: `linear/${delivery}` })
  }

  /** The id of the issue of a session; undefined for sessions of others. */
  const issueOf = async (session_id) => {
    try {
      return (await reins.sessions.get({ session_id })).labels[label]
    } catch (error) {
      if (error instanceof ReinsApiError && error.code === "not_found") return undefined
      throw error
    }
  }

  /** The last words of the agent in a turn. */
  const lastWords = async ({ id: turn_id, outcome, session_id }) => {
    const said = { session_id, turn_id, types: "message.completed" }
    for await (const { payload } of reins.sessions.listEvents(said))
      if (payload.message.id === outcome?.message_id)
        return payload.message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
    return ""
  }

  /** The comment for an event, with a key that no other event has; undefined for none. */
  const commentFor = async ({ payload, type }) => {
    const { interaction, turn } = payload
    if (type === "turn.action_required") {
      // A program answers the call of its function.
      if (interaction.kind === "tool_call") return undefined
      const page = `${reins.baseUrl}/ui/sessions/${interaction.session_id}`
      return { key: interaction.id, body: `${interaction.title}\n\nPlease answer at ${page}.` }
    }
    if (type === "turn.succeeded") return { key: turn.id, body: (await lastWords(turn)) || "Done." }
    const why = turn.reason_message ?? turn.reason ?? "no reason was given"
    return { key: turn.id, body: `The turn ${turn.state}: ${why}` }
  }

  const post = async (event) => {
    const issueId = await issueOf(event.session_id)
    const comment = issueId === undefined ? undefined : await commentFor(event)
    if (comment !== undefined) await linear.comment({ issueId, ...comment })
  }

  /** Writes down what happens in the workspace from a position on. A comment that Linear refuses is logged and left out. */
  const follow = async ({ after, save }) => {
    for await (const { event, position } of reins.workspaces.stream({ workspace_id, project_id, after, types })) {
      await post(event).catch((error) => {
        if (!(error instanceof LinearRefusal)) throw error
        console.error(error)
      })
      save(position)
    }
  }

  return { follow, onCall }
}
