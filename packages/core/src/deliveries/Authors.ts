import type { Actor } from "@reins/base/domain/Event"
import { type GitIdentity, identityText } from "@reins/base/domain/GitIdentity"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Providers } from "../catalog/Providers.js"
import type { Changeset } from "../changes/Changeset.js"
import { AccountStore } from "../identity/AccountStore.js"
import type { DeliveryAuthor, DeliveryTrailers } from "../projects/Project.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import type { SeenSession } from "../sessions/rows/SessionRow.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { DeliveryStore } from "./DeliveryStore.js"

/** The people of a commit. It is fixed with the request, so that each attempt makes the same commit. */
export interface Authorship {
  /** Null is the service. */
  readonly author: GitIdentity | null
  readonly trailers: ReadonlyArray<string>
}

/** The wishes for a commit, of the request or of the project. */
export interface AuthorTerms {
  readonly author: DeliveryAuthor
  readonly trailers: DeliveryTrailers
  /** The account or API key that asks for the delivery. */
  readonly asker: Actor
}

/** So many co-authors does a commit name. */
const maxCoAuthors = 20

/**
 * Gives the function that finds the people of a commit. Its author is the account whose message began the turn. Those who have sent messages
 * since the last delivery are its co-authors. Only people who have set their git names are named, since a mail address is published by its
 * owner's word alone.
 */
export const makeAuthorship = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const deliveries = yield* DeliveryStore
  const messages = yield* MessageStore
  const providers = yield* Providers
  const turns = yield* TurnStore

  /** The author of the message that began a turn; undefined without a turn. */
  const beganBy = Effect.fnUntraced(function* (turn: Turn | undefined, asker: Actor) {
    const message = turn === undefined ? undefined : yield* messages.find(turn.message_id)
    // The service writes the message of care, for the account that has put it.
    return message?.kind === "care" ? asker : message?.author
  })

  return Effect.fnUntraced(function* (session: SeenSession, changeset: Changeset, terms: AuthorTerms) {
    const after: Timestamp | null = yield* deliveries.deliveredUntil(session.id, changeset.id)
    const senders = yield* messages.authors(session.id, { after, until: changeset.created_at })
    const turn = changeset.source_turn_id === null ? undefined : yield* turns.find(changeset.source_turn_id)
    // A capture without a turn holds the work of the last turn.
    const first = (yield* beganBy(turn, terms.asker)) ?? senders.at(-1)
    const gits = yield* accounts.gitsOf([...(first === undefined ? [] : [first]), ...senders])
    const author = terms.author === "service" || first === undefined ? null : (gits.get(first.id) ?? null)
    const { model, provider_id } = turn?.settings ?? session
    const agent = agentText(providers.nameOf(provider_id), model)
    const found: Authorship = { author, trailers: trailersOf({ changeset, terms, author, senders, gits, agent }) }
    return found
  })
})

/** An agent and its model in the form of the kernel's "AI Coding Assistants", where words after a space are the names of other tools. */
export const agentText = (name: string, model: string | null): string => {
  const words = name.replace(/\([^()]*\)/g, "").split(/[\s:]+/)
  const ofModel = (model ?? "").replace(/\s+/g, "-")
  return [words.filter((word) => word !== "").join("-"), ofModel].filter((part) => part !== "").join(":")
}

const trailersOf = ({
  agent,
  author,
  changeset,
  gits,
  senders,
  terms
}: {
  readonly agent: string
  readonly changeset: Changeset
  readonly terms: AuthorTerms
  readonly author: GitIdentity | null
  readonly senders: ReadonlyArray<Actor>
  readonly gits: ReadonlyMap<string, GitIdentity>
}): ReadonlyArray<string> => {
  const { assisted_by = false, co_authors = true, session: ids = true } = terms.trailers
  const others = new Set(senders.flatMap(({ id }) => gits.get(id) ?? []).map(identityText))
  if (author !== null) others.delete(identityText(author))
  return [
    ...(ids ? [`Reins-Session: ${changeset.session_id}`, `Reins-Changeset: ${changeset.id}`] : []),
    ...(assisted_by ? [`Assisted-by: ${agent}`] : []),
    ...(co_authors ? [...others].slice(0, maxCoAuthors).map((other) => `Co-authored-by: ${other}`) : [])
  ]
}
