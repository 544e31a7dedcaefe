import { type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Database } from "../store/Database.js"
import type { CareRow } from "./CareStore.js"
import type { CareMemory } from "./Decision.js"

/** Gives the function that reads what care has done for a head: causes with a turn, checks begun anew, and turns without an effect. */
export const makeMemory = Effect.map(Database, ({ all, first, sql }) =>
  Effect.fnUntraced(function* ({ generation, merge_request_id: id }: CareRow, headSha: string) {
    const causes = yield* all(sql<{ key: string; proved_at: Timestamp | null }>`select key,
        (select updated_at from attentions where id = attention_id and state = 'superseded') as proved_at
      from attention_causes where merge_request_id = ${id}`)
    const reruns = yield* all(sql<{ key: string }>`select key from care_reruns where merge_request_id = ${id}`)
    const failures = yield* all(sql<{ fingerprint: string }>`select fingerprint from attentions
      where merge_request_id = ${id} and generation = ${generation} and fingerprint is not null
        and turn_id is not null`)
    const vain = yield* first(sql<{ count: number; newest: Timestamp | null }>`select count(*) as count,
        max(updated_at) as newest from attentions
      where merge_request_id = ${id} and generation = ${generation} and head_sha = ${headSha}
        and state = 'superseded' and turn_id is null
        and id not in (select attention_id from attention_causes where merge_request_id = ${id})`)
    const memory: Omit<CareMemory, "isSpent" | "turns"> = {
      handled: new Set(causes.map(({ key }) => key)),
      clean: new Map(causes.flatMap(({ key, proved_at: at }) => (at === null ? [] : [[key, toMillis(at)] as const]))),
      vain: { count: Number(vain?.count ?? 0), lastMs: vain?.newest == null ? 0 : toMillis(vain.newest) },
      reruns: new Set(reruns.map(({ key }) => key)),
      failures: failures.map(({ fingerprint }) => fingerprint)
    }
    return memory
  })
)
