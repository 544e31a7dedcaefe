import { randomUUID } from "node:crypto"
import { numberOf } from "@reins/base/base/Release"
import { Effect } from "effect"
import type { Database } from "./Database.js"

/** A thing that all machines of an installation have to agree on. */
export type Agreement = "installation" | "key_ring" | "local_data_dir" | "min_release" | "search_scoped"

/** The value that stands for all machines; undefined before the first of them has said it. */
export const currentAgreement = (
  { first, sql }: Database["Type"],
  name: Agreement
): Effect.Effect<string | undefined> =>
  Effect.map(first(sql<{ value: string }>`select value from agreements where name = ${name}`), (row) => row?.value)

/** The value that stands for all machines: the given one where none stood before. */
export const agreedOn = (db: Database["Type"], name: Agreement, value: string): Effect.Effect<string> =>
  Effect.zipRight(
    db.run(db.sql`insert into agreements (name, value) values (${name}, ${value}) on conflict do nothing`),
    Effect.map(currentAgreement(db, name), (stands) => stands ?? value)
  )

/** Puts another value in the place of the one that stood. */
export const agree = ({ run, sql }: Database["Type"], name: Agreement, value: string): Effect.Effect<void> =>
  run(sql`insert into agreements (name, value) values (${name}, ${value})
    on conflict (name) do update set value = excluded.value`)

/** The release that the schema needs, where that is newer than a given one. It is a statement of PostgreSQL, and a part of others. */
export const neededBeyond = (sql: Database["Type"]["sql"], release: string) =>
  sql<{ value: string }>`select value from agreements where name = 'min_release'
    and string_to_array(value, '.')::int[] > string_to_array(${numberOf(release)}, '.')::int[]`

/** The key of the ring that the machines of an installation share; undefined where none has been named. */
export const ringKeyId = (db: Database["Type"]): Effect.Effect<string | undefined> =>
  Effect.map(currentAgreement(db, "key_ring"), (proof) => proof?.split(".")[0])

/** An id that no other installation has, also one on the same machine. */
export const installationId = (db: Database["Type"]): Effect.Effect<string> =>
  agreedOn(db, "installation", randomUUID())
