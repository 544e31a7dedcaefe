import http from "node:http"
import { assert, layer } from "@effect/vitest"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { MergeRequestLooks } from "@reins/core/requests/looks/MergeRequestLooks"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import type { MergeRequest } from "@reins/core/requests/rows/MergeRequest"
import { eventOf, forgeConnection, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { within } from "@reins/testing/MachineTime"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect, Schedule } from "effect"
import { called, passTime } from "./Rings.js"
import { until } from "./Watched.js"

/** The tests of the repository: a file has to say TWO, and another one must still be there. */
const command = 'test -f b.txt && { grep -q TWO a.txt || { echo "a.txt says $(cat a.txt), not TWO"; exit 3; }; }'

const get = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.async<{ readonly status: number; readonly location: string | undefined; readonly text: string }>((resume) => {
    http.get(url, { headers }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("end", () =>
        resume(
          Effect.succeed({
            status: response.statusCode ?? 0,
            location: response.headers.location,
            text: Buffer.concat(chunks).toString("utf8")
          })
        )
      )
    })
  })

/** A session whose branch fails in the CI, with its merge request. */
const red = (kind: KnownForge, by: "hooks" | "polling" | "both") =>
  Effect.gen(function* () {
    const origin = yield* remote(kind)
    const ci = yield* origin.runCi(command)
    const { change, principal, session, workspaceId } = yield* workspace(origin.url)
    const connection = yield* forgeConnection(kind, origin.base)
    const outcomes = yield* called(kind, origin.forge, principal, workspaceId)
    origin.forge.odd.hooks = by === "polling" ? "never" : by === "both" ? "twice" : "once"
    const deliveries = yield* Deliveries
    const requests = yield* MergeRequests
    const deliver = Effect.fnUntraced(function* (content: string, onto: "base" | "head") {
      const changeset = yield* change({ "a.txt": content })
      const answer = yield* deliveries.request(principal, changeset.id, { connection_id: connection.id, onto })
      yield* eventOf(session.id, answer.event_watermark, "delivery.succeeded", "delivery.failed", "delivery.blocked")
      return yield* deliveries.get(principal, answer.delivery.id)
    })
    const delivery = yield* deliver("ONE\n", "base")
    const opening = yield* requests.open(principal, delivery.id, { draft: false })
    yield* eventOf(session.id, opening.event_watermark, "merge_request.opened", "merge_request.failed")
    const { id } = opening.merge_request
    const read = requests.get(principal, id)
    /** Waits for a state of the checks of a head. Nothing but the hooks, or the time, has the forge read. */
    const seen = (state: string, head: string | null) => {
      const isSo = ({ standing }: MergeRequest) =>
        standing?.checks.state === state && standing.checks.head_sha === head && standing.head_is_ours
      if (by !== "polling") return Effect.zipRight(until(read, isSo), read)
      const looked = Effect.zipRight(passTime, read)
      return Effect.repeat(looked, { schedule: Schedule.spaced("50 millis"), until: isSo }).pipe(
        within(25),
        Effect.zipRight(read)
      )
    }
    return { ci, deliver, delivery, id, origin, outcomes, principal, seen, session }
  })

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`a real CI on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      const isSeen = (by: "hooks" | "polling" | "both") =>
        it.scoped(`a red check of ${kind} is seen with its log, and the fix is green, by ${by}`, () =>
          Effect.gen(function* () {
            const { ci, deliver, delivery, id, origin, outcomes, principal, seen } = yield* red(kind, by)
            const failing = yield* seen("failing", delivery.commit)
            assert.deepStrictEqual(
              failing.standing?.waiting_for.map(({ kind, names }) => [kind, ...names]),
              [["checks_failing", "test"]]
            )
            const looks = yield* MergeRequestLooks
            const [check] = (yield* looks.checks(principal, id, { head_sha: delivery.commit ?? "" })).items
            assert.deepInclude(check ?? {}, { name: "test", state: "failing" })

            // The log is that of the command, and lies where no token goes.
            const held = origin.forge.checks.find(({ head }) => head === delivery.commit)
            assert.include(held?.log ?? "", "a.txt says ONE, not TWO")
            assert.include(held?.log ?? "", "exit 3")
            if (kind === "github") {
              const authorization = `Bearer ${"forge-token-canary-Zq8rT2vX"}`
              const jobs = `${origin.base}/api/v3/repos/acme/shop/actions/jobs/${held?.id}/logs`
              const led = yield* get(jobs, { authorization, "user-agent": "test" })
              assert.strictEqual(led.status, 302)
              assert.strictEqual((yield* get(led.location ?? "", { authorization })).status, 400)
              assert.include((yield* get(led.location ?? "", {})).text, "not TWO")
            }

            const fix = yield* deliver("TWO\n", "head")
            assert.strictEqual(fix.state, "succeeded", JSON.stringify(fix))
            const green = yield* seen("passing", fix.commit)
            assert.deepStrictEqual(green.standing?.waiting_for, [])
            assert.deepInclude(green.standing ?? {}, { head_is_ours: true })
            yield* Effect.promise(ci.idle)
            const answers = (yield* Effect.promise(() => Promise.all(origin.forge.calls))).flat()
            assert.isTrue(
              answers.every((status) => status === 202),
              answers.join()
            )
            const accepted = outcomes.filter((outcome) => outcome === "accepted").length
            const duplicates = outcomes.filter((outcome) => outcome === "duplicate").length
            if (by === "polling") assert.deepStrictEqual(outcomes, [])
            else assert.isAbove(accepted, 0)
            if (by === "both") assert.isAtLeast(duplicates, accepted)
          })
        )
      isSeen("polling")
      variants(() => {
        isSeen("hooks")
        isSeen("both")
      })
    }
  })
}
