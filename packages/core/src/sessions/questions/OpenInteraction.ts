import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import { InteractionId, newId, type TurnId } from "@reins/base/domain/Ids"
import { fromMillis, now, toMillis } from "@reins/base/domain/Timestamp"
import type { Asked } from "@reins/machine/harness/HarnessEvent"
import { Effect } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import type { Interaction } from "../rows/Interaction.js"
import { SessionStore } from "../rows/SessionStore.js"
import { isStarted } from "../rows/Turn.js"
import { TurnStore } from "../turns/TurnStore.js"
import { type InteractionRow, toInteraction } from "./InteractionRows.js"

/** The questions that people are asked. */
export interface Question extends Omit<Asked, "_tag" | "request_id"> {
  /** The resource whose budget is used up, for the kind `budget`. */
  readonly budget_of?: string
}

/** `InteractionStore.open`. */
export const makeOpen = Effect.fnUntraced(function* (
  tell: (interaction: Interaction, actor: Actor) => Effect.Effect<void, never, Commit>
) {
  const db = yield* Database
  const config = yield* CoreConfig
  const sessions = yield* SessionStore
  const turns = yield* TurnStore

  return fn("InteractionStore.open")(function* (turnId: TurnId, actor: Actor, asked: Question) {
    const unheld = yield* turns.find(turnId)
    if (unheld !== undefined) yield* sessions.lock(unheld.session_id)
    const turn = yield* turns.find(turnId)
    if (turn === undefined || !isStarted(turn.state)) return undefined
    const at = yield* now
    const row: InteractionRow = {
      id: yield* newId(InteractionId),
      session_id: turn.session_id,
      turn_id: turn.id,
      kind: asked.kind,
      title: asked.title,
      description: asked.description,
      subject: asked.subject == null ? null : JSON.stringify(asked.subject),
      tool_id: asked.tool_id,
      budget_of: asked.budget_of ?? null,
      options: JSON.stringify(asked.options),
      form: asked.form === null ? null : JSON.stringify(asked.form),
      url: asked.url,
      default_option: asked.default,
      state: "pending",
      answer: null,
      note: null,
      content: null,
      tool: null,
      call_key: null,
      claim: null,
      result: null,
      is_error: 0,
      expires_at: fromMillis(toMillis(at) + config.interactionExpiryMs),
      created_at: at,
      resolved_at: null
    }
    yield* db.run(db.sql`insert into interactions ${db.sql.insert({ ...row })}`)
    const interaction = toInteraction(row)
    yield* tell(interaction, actor)
    return interaction
  })
})
