import { release } from "@reins/base/base/Release"
import { contract, expand, type Step, statements } from "@reins/core/store/Step"
import { steps as known } from "@reins/core/store/Steps"

/** Tables that every turn writes, whose rows get a column that this release does not know. */
const busy = ["sessions", "turns", "jobs", "attempts", "events", "uploads", "nodes", "placements"]

/**
 * The steps of the release after this one, for tests of both beside each other. It notes which of its nodes took a message. A step that takes
 * something away is there when a test asks for it.
 */
export const steps: Readonly<Record<string, Step>> = {
  ...known,
  "9000_next_release": expand(
    statements([
      "alter table messages add column written_by text",
      "create index messages_written on messages (written_by) where written_by is not null",
      ...busy.map((table) => `alter table ${table} add column next_release text not null default 'unknown'`),
      "create table next_notes (message_id text primary key references messages(id) on delete cascade, note text not null)"
    ])
  ),
  ...(process.env["REINS_TEST_CONTRACT"] !== undefined && {
    "9001_without_notes": contract(release, statements(["drop table next_notes"]))
  })
}
