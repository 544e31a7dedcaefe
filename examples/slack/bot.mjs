// The bot: what it makes of Slack's events and clicks, and what it posts of the events of Reins. It keeps nothing: the label of a session names
// its thread, so that a restart loses nothing.

import { askedText, ReinsApiError } from "@reins/client"
import { escaped, pieces, SlackRefusal, short, wordsOf } from "./api.mjs"

/** The label of a session that names its thread, as `team/channel/timestamp`. */
const label = "slack"

/** The tries of a call that somebody waits for. */
const fewTries = 3

const questions = ["turn.action_required", "turn.action_changed"]
const types = [...questions, "turn.succeeded", "turn.failed", "turn.cancelled", "turn.interrupted"]

/** The longest text of a section in Slack. */
const longest = 3000

/** The page that has the whole question. */
const pageOf = (reins, { session_id }) => `${reins.baseUrl}/ui/sessions/${session_id}`

/**
 * A question of an agent, with a button for each answer. Agents write the texts, so they are plain. What is not shown whole is refused here and allowed on its
 * page. The answer names the digest of what is shown, because agents change a call while a person reads.
 */
const asked = (interaction, page) => {
  const { id, kind, options, subject, title } = interaction
  const text = [title, askedText(interaction)].filter(Boolean).join("\n")
  const isWhole = kind !== "approval" || (subject?.complete === true && text.length <= longest)
  const shown = options.filter((option) => isWhole || !option.kind.startsWith("allow"))
  const buttons = shown.slice(0, 24).map((option, index) => ({
    type: "button",
    action_id: `answer-${index}`,
    text: { type: "plain_text", text: short(option.name, 75) },
    value: JSON.stringify({
      interaction_id: id,
      answer: option.id,
      name: short(option.name, 75),
      ...(subject && { seen: subject.digest })
    }),
    ...(option.kind.startsWith("reject") && { style: "danger" })
  }))
  const link = { type: "button", action_id: "open", text: { type: "plain_text", text: "See all of it" }, url: page }
  return [
    { type: "section", text: { type: "plain_text", text: short(text, longest) } },
    { type: "actions", elements: isWhole ? buttons : [...buttons, link] }
  ]
}

export const makeBot = ({ project, reins, slack, users }) => {
  const { id: project_id, workspace_id } = project

  /** The session of a thread. The first message of a thread makes it, and the same key never makes two. */
  const sessionOf = async (thread, words) => {
    for await (const session of reins.sessions.list({ workspace_id, label: `${label}=${thread}` })) return session
    const title = short(words, 80) || "Slack"
    const input = { workspace_id, project_id, title, labels: { [label]: thread } }
    return reins.sessions.create(input, { idempotencyKey: `slack/${thread}` })
  }

  const refuse = (channel, user, thread_ts) => {
    const text = "You may not give work to this bot. Ask its owner to add you to SLACK_USERS."
    return slack("chat.postEphemeral", { channel, user, text, ...(thread_ts && { thread_ts }) }, fewTries)
  }

  const onEvent = async ({ event, event_id, team_id }) => {
    const isForBot = event.type === "app_mention" || (event.type === "message" && event.channel_type === "im")
    // Messages of bots, also its own, changes and deletions are no work.
    if (!isForBot || event.bot_id !== undefined || event.subtype !== undefined) return
    if (!users.has(event.user)) return refuse(event.channel, event.user, event.thread_ts)
    const words = wordsOf(event.text)
    const session = await sessionOf(`${team_id}/${event.channel}/${event.thread_ts ?? event.ts}`, words)
    // Slack sends an event again when the answer comes late. The key makes it one message.
    await reins.messages.send({ session_id: session.id, content: words }, { idempotencyKey: `slack/${event_id}` })
  }

  const onClick = async ({ actions, channel, message, type, user }) => {
    const [action] = actions ?? []
    if (type !== "block_actions" || !action?.action_id.startsWith("answer-")) return
    if (!users.has(user.id)) return refuse(channel.id, user.id, message.thread_ts)
    const { name, ...given } = JSON.parse(action.value)
    const end = await reins.interactions.answer(given).then(
      () => `${escaped(name)}, said <@${user.id}>`,
      (error) => {
        if (error instanceof ReinsApiError && error.status < 500) return escaped(error.message)
        throw error
      }
    )
    const text = `${message.text}\n*${end}*`
    const blocks = [{ type: "section", text: { type: "mrkdwn", text: short(text, 3000) } }]
    // The click is answered by now, and Slack waits for three seconds at most.
    slack("chat.update", { channel: channel.id, ts: message.ts, text, blocks }, fewTries).catch(console.error)
  }

  /** The place in Slack of a session; undefined for sessions of others. */
  const placeOf = async (session_id) => {
    try {
      const { labels } = await reins.sessions.get({ session_id })
      const [, channel, thread_ts] = labels[label]?.split("/") ?? []
      return thread_ts === undefined ? undefined : { channel, thread_ts }
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

  const wordsFor = async ({ payload, type }) => {
    const { turn } = payload
    if (type === "turn.succeeded") return (await lastWords(turn)) || "Done."
    return `The turn ${turn.state}: ${turn.reason_message ?? turn.reason ?? "no reason was given"}`
  }

  const ask = (place, interaction) => {
    // A program answers the call of its function.
    if (interaction.kind === "tool_call") return
    const text = escaped(interaction.title)
    // A form, a link and a question in words have no buttons.
    const isPressed = interaction.options.length > 0 && ["approval", "question", "budget"].includes(interaction.kind)
    if (isPressed)
      return slack("chat.postMessage", { ...place, text, blocks: asked(interaction, pageOf(reins, interaction)) })
    return slack("chat.postMessage", { ...place, text: `${text}\nPlease answer at ${pageOf(reins, interaction)}` })
  }

  const post = async (event) => {
    const place = await placeOf(event.session_id)
    if (place === undefined) return
    if (questions.includes(event.type)) return ask(place, event.payload.interaction)
    for (const text of pieces(await wordsFor(event)))
      await slack("chat.postMessage", { ...place, text: escaped(text), unfurl_links: false })
  }

  /** Posts what happens in the workspace from a position on. A post that Slack refuses is logged and left out. */
  const follow = async ({ after, save }) => {
    for await (const { event, position } of reins.workspaces.stream({ workspace_id, project_id, after, types })) {
      await post(event).catch((error) => {
        if (!(error instanceof SlackRefusal)) throw error
        console.error(error)
      })
      save(position)
    }
  }

  return { follow, onClick, onEvent }
}
