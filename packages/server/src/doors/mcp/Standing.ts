import { askedText, type Changeset, type Interaction, nothingTold, type Reins, type Turn } from "@reins/client"
import { cut } from "./Tool.js"

const ended: ReadonlySet<Turn["state"]> = new Set(["succeeded", "failed", "cancelled", "interrupted"])

export const hasEnded = ({ state }: Pick<Turn, "state">): boolean => ended.has(state)

export const shownTurn = ({ id, reason, reason_message, state }: Turn) => ({ id, state, reason, reason_message })

/** The most characters of what one approval is about. */
const mostOfSubject = 20_000

/** A question, whole, because an assistant may be the one who decides. The digest of its subject goes with the answer. */
export const shownQuestion = (asked: Interaction) => ({
  interaction_id: asked.id,
  kind: asked.kind,
  title: asked.title,
  description:
    asked.subject === null
      ? (asked.description ?? (asked.kind === "approval" ? nothingTold : null))
      : cut(askedText(asked), mostOfSubject),
  ...(asked.subject !== null && { complete: asked.subject.complete, digest: asked.subject.digest }),
  options: asked.options.map(({ id, kind, name }) => ({ id, name, kind })),
  form: asked.form,
  url: asked.url
})

export const shownChangeset = ({ additions, deletions, empty, file_count, id, state }: Changeset) => ({
  id,
  state,
  empty,
  files: file_count,
  additions,
  deletions
})

/** The questions that one answer shows. */
const mostQuestions = 5

/** Where a session stands, in words that fit a context window. */
export const standingOf = async (reins: Reins, session_id: string) => {
  const [session, turns, questions, changesets] = await Promise.all([
    reins.sessions.get({ session_id }),
    reins.turns.list({ session_id, order: "newest", limit: 1 }),
    reins.interactions.list({ session_id, state: "pending", limit: mostQuestions + 1 }),
    reins.sessions.listChangesets({ session_id, limit: 1 })
  ])
  const [newest] = turns.items
  const [changeset] = changesets.items
  return {
    session_id,
    title: session.title,
    lifecycle: session.lifecycle,
    activity: session.activity,
    turn: newest === undefined ? null : shownTurn(newest),
    questions: questions.items.slice(0, mostQuestions).map(shownQuestion),
    more_questions: questions.items.length > mostQuestions,
    changeset: changeset === undefined ? null : shownChangeset(changeset),
    event_watermark: session.event_watermark
  }
}

/** The changeset that a turn has made; the newest one from before its end where it has made none. */
export const changesetOf = async (reins: Reins, turn: Turn): Promise<Changeset | undefined> => {
  const { items } = await reins.sessions.listChangesets({ session_id: turn.session_id, limit: 50 })
  const own = items.find(({ origin, source_turn_id }) => origin !== "explicit" && source_turn_id === turn.id)
  return own ?? items.find(({ created_at }) => created_at <= (turn.finished_at ?? created_at))
}

/** Where a session stood at the end of a turn. */
export const standingAfter = async (reins: Reins, turn: Turn): Promise<Standing> => {
  const [session, changeset] = await Promise.all([
    reins.sessions.get({ session_id: turn.session_id }),
    changesetOf(reins, turn)
  ])
  return {
    session_id: turn.session_id,
    title: session.title,
    lifecycle: session.lifecycle,
    activity: turn.state === "interrupted" ? ("attention" as const) : ("idle" as const),
    turn: shownTurn(turn),
    questions: [],
    more_questions: false,
    changeset: changeset === undefined ? null : shownChangeset(changeset),
    event_watermark: session.event_watermark
  }
}

export type Standing = Awaited<ReturnType<typeof standingOf>>

/** True when the session does nothing more until somebody answers or sends a message. */
export const rests = ({ questions, turn }: Standing): boolean =>
  questions.length > 0 || turn === null || ended.has(turn.state)
