import { assert, layer } from "@effect/vitest"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { MergeRequestLooks } from "@reins/core/requests/looks/MergeRequestLooks"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { eventOf, forgeConnection, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { until } from "./Watched.js"

/** Names in letters of many kinds, also two that look alike and are not. */
const names = [
  "καλημέρα",
  "привет",
  "שלום-עולם",
  "مرحبا",
  "नमस्ते",
  "สวัสดี",
  "你好",
  "こんにちは",
  "안녕하세요",
  "ǅ-ﬁ-ß-İ",
  "e\u0301t\u00e9",
  "👩‍👩‍👧‍👦🏳️‍🌈",
  "𝒳-𠜎"
] as const

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`names of all alphabets on ${name}`, (it) => {
    for (const kind of forgesOn(name))
      it.scoped(`come through a session, its files, a branch of ${kind}, a merge request and a check`, () =>
        Effect.gen(function* () {
          const origin = yield* remote(kind)
          const all = names.join(" ")
          const { change, principal, session } = yield* workspace(origin.url, { title: all })
          const connection = yield* forgeConnection(kind, origin.base)
          const paths = names.map((each) => `${each}/${each}.txt`)
          const changeset = yield* change(Object.fromEntries(paths.map((path) => [path, `${path}\n`])))
          assert.sameMembers(changeset.files?.map(({ path }) => path) ?? [], paths)
          const branch = `fix/${names.join("/")}`
          const deliveries = yield* Deliveries
          const asked = yield* deliveries.request(principal, changeset.id, {
            connection_id: connection.id,
            target_ref: branch
          })
          yield* eventOf(session.id, asked.event_watermark, "delivery.succeeded", "delivery.failed", "delivery.blocked")
          const delivery = yield* deliveries.get(principal, asked.delivery.id)
          assert.deepInclude(delivery, { state: "succeeded", target_ref: branch }, JSON.stringify(delivery))
          assert.strictEqual(origin.headOf(branch), delivery.commit)
          const pushed = origin.git("ls-tree", "-r", "-z", "--name-only", delivery.commit ?? "").split("\0")
          assert.includeMembers(pushed, paths)
          assert.include(origin.git("log", "-1", "--format=%B", delivery.commit ?? ""), all)

          const requests = yield* MergeRequests
          const opened = yield* requests.open(principal, delivery.id, { description: all, draft: false })
          yield* eventOf(session.id, opened.event_watermark, "merge_request.opened", "merge_request.failed")
          const { id } = opened.merge_request
          assert.deepInclude(yield* requests.get(principal, id), { state: "open", title: all, head_branch: branch })
          assert.deepInclude(origin.forge.pulls[0], { title: all, head: branch })
          for (const each of names) origin.forge.check({ head: delivery.commit ?? "", name: each, state: "passed" })
          const looks = yield* MergeRequestLooks
          const { asked_at } = yield* looks.look(principal, id)
          yield* until(requests.get(principal, id), (request) => (request.observed_at ?? "") >= asked_at)
          const { items } = yield* looks.checks(principal, id, { limit: 50 })
          assert.includeMembers(
            items.map((check) => check.name),
            [...names]
          )
        })
      )
  })
}
