import { Schema } from "effect"
import * as fc from "fast-check"
import { assert, it } from "vitest"
import { randomKills, seed, soakMs } from "../Volume.js"
import { Installation } from "./Installation.js"
import { Audit } from "./invariants/Audit.js"
import { Load, Reader } from "./Load.js"
import { newName, newSession } from "./Scenes.js"

/** The lifetime of a server once it is ready: from too short for anything to get far to long enough for most of it. */
const lifeMs = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 300, max: 3000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 6000, max: 9000 }) }
)

/** So many lives, and as many more as fit into the minutes that were asked for. */
function* lives(): Generator<number> {
  const until = Date.now() + soakMs
  for (let round = 0; ; round++) {
    for (const life of fc.sample(lifeMs, { seed: seed + round, numRuns: randomKills })) {
      if (round > 0 && Date.now() >= until) return
      yield life
    }
  }
}

it(
  `nothing is lost and nothing is doubled by kills at random moments under load (REINS_CHAOS_SEED=${seed})`,
  async () => {
    const startedAt = Date.now()
    const installation = await Installation.start("SQLite", { failpoints: false })
    try {
      const session = await newSession(installation)
      const readers = [new Reader(installation, session.id), new Reader(installation, session.id)]
      const load = new Load(installation)
      let killed = 0
      for (const life of lives()) {
        await new Promise((resolve) => setTimeout(resolve, life))
        await installation.kill()
        killed++
        await installation.api.messages.send({ session_id: session.id, content: newName("Note"), routing: "note" })
      }
      await load.stop()
      await new Audit(installation).holds()

      const { event_watermark: watermark } = await installation.api.sessions.get({ session_id: session.id })
      for (const reader of readers) {
        await installation.until(() => reader.seqs.at(-1) === watermark, "a stream to come to its end")
        await reader.stop()
        assert.deepStrictEqual(
          reader.seqs,
          Array.from({ length: watermark }, (_, index) => index + 1)
        )
      }
      const turns = await installation.turns("1 = 1")
      const states = [...new Set(turns.map((turn) => turn.state))]
      const ends = states.map((state) => `${turns.filter((turn) => turn.state === state).length} ${state}`)
      const [{ most = 0 } = {}] = await installation.records.all(
        Schema.Struct({ most: Schema.Number }),
        "select max(attempt_count) as most from jobs"
      )
      const succeeded = async (table: string) => {
        const [{ count = 0 } = {}] = await installation.records.all(
          Schema.Struct({ count: Schema.Number }),
          `select cast(count(*) as integer) as count from ${table} where state in ('succeeded', 'applied')`
        )
        return `${count} ${table}`
      }
      const effects = await Promise.all(["deliveries", "applications", "delegations"].map(succeeded))
      const seconds = Math.round((Date.now() - startedAt) / 1000)
      process.stdout.write(
        `${killed} kills, ${installation.ledger.entries.length} acknowledged writes, ${turns.length} turns (${ends.join(", ")}), ${effects.join(", ")}, ` +
          `at most ${most} attempts of a job, ${seconds} s, seed ${seed}: 0 lost, 0 doubled\n`
      )
      assert.isAtLeast(killed, randomKills)
    } finally {
      await installation.end()
    }
  },
  soakMs + 1_800_000
)
