import * as fs from "node:fs"
import { join } from "node:path"
import { assert, it, layer } from "@effect/vitest"
import type { Changeset } from "@reins/core/changes/Changeset"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { DeliveryInput } from "@reins/core/deliveries/DeliveriesApi"
import type { Delivery } from "@reins/core/deliveries/Delivery"
import * as Embedded from "@reins/core/Embedded"
import { eventOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { plainGit, put } from "@reins/testing/git/Fixture"
import { flowDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { Effect, Schema } from "effect"

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
const attributes = "*.bin filter=lfs -text\nsecret/** filter=git-crypt\n"

const ended = (answer: { readonly delivery: Delivery; readonly event_watermark: number }) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const ends = ["delivery.succeeded", "delivery.failed", "delivery.blocked"]
    yield* eventOf(answer.delivery.session_id, answer.event_watermark, ...ends)
    return yield* (yield* Deliveries).get(principal, answer.delivery.id)
  })

const deliver = (changeset: Changeset, input: DeliveryInput = {}) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    return yield* Effect.flatMap((yield* Deliveries).request(principal, changeset.id, input), ended)
  })

/** A remote with filters, and a session on it. */
const filtered = Effect.gen(function* () {
  const origin = yield* remote()
  origin.commitOn("main", ".gitattributes", attributes)
  origin.commitOn("main", "kept.bin", pointer)
  return { origin, ...(yield* workspace(origin.url)) }
})

for (const { layer: database, name } of flowDatabases) {
  layer(installation(database), { excludeTestServices: true })(`obstacles on ${name}`, (it) => {
    it.scoped("the start of a session tells the filters, and pointers are delivered", () =>
      Effect.gen(function* () {
        const { change, origin, session } = yield* filtered
        const made = yield* eventOf(session.id, 0, "workspace.restored")
        assert.deepInclude(made?.payload, { filters: [{ filter: "lfs", files: 1 }] })
        const changeset = yield* change({ "kept.bin": pointer.replace("00", "11"), "a.txt": "ONE\n" })
        assert.isEmpty(changeset.diagnostics)
        const delivery = yield* deliver(changeset)
        assert.deepInclude(delivery, { state: "succeeded", allow: [] })
        assert.strictEqual(origin.headOf(delivery.target_ref), delivery.commit)
      })
    )

    it.scoped("a repository without attributes has no filters", () =>
      Effect.gen(function* () {
        const { session } = yield* workspace((yield* remote()).url)
        assert.deepInclude((yield* eventOf(session.id, 0, "workspace.restored"))?.payload, { filters: [] })
        const empty = yield* workspace()
        assert.deepInclude((yield* eventOf(empty.session.id, 0, "workspace.restored"))?.payload, { filters: [] })
      })
    )

    variants(() => {
      it.scoped(
        "content in the place of a pointer is told by each changeset, and blocks each try until it is allowed",
        () =>
          Effect.gen(function* () {
            const { change, origin, principal } = yield* filtered
            const deliveries = yield* Deliveries
            const first = yield* change({ "kept.bin": "the content" })
            // The file is not read again for the second capture.
            const changeset = yield* change({ "a.txt": "ONE\n" })
            for (const { diagnostics } of [first, changeset]) {
              assert.deepStrictEqual(diagnostics, [
                'The changeset has the content of 1 file where Git LFS expects a pointer: "kept.bin". ' +
                  "A delivery as a branch is blocked unless it allows lfs_content."
              ])
            }
            const blocked = yield* deliver(changeset)
            assert.deepInclude(blocked, { state: "blocked", reason: "lfs_content", commit: null, allow: [] })
            assert.include(blocked.reason_message, '"kept.bin"')
            assert.include(blocked.reason_message, "To deliver anyway, allow lfs_content.")
            assert.deepInclude(blocked.steps.at(-1), { kind: "materialize", outcome: "failed" })
            assert.isUndefined(origin.headOf(blocked.target_ref))
            for (const again of [
              deliveries.retry(principal, blocked.id),
              deliveries.refresh(principal, blocked.id),
              deliveries.request(principal, changeset.id, { allow: ["unencrypted_content", "name_collision"] })
            ]) {
              assert.deepInclude(yield* Effect.flatMap(again, ended), {
                id: blocked.id,
                state: "blocked",
                reason: "lfs_content"
              })
              assert.isUndefined(origin.headOf(blocked.target_ref))
            }
            const done = yield* deliver(changeset, { allow: ["lfs_content"] })
            assert.deepInclude(done, { id: blocked.id, state: "succeeded", reason: null, allow: ["lfs_content"] })
            assert.strictEqual(origin.headOf(done.target_ref), done.commit)
          })
      )
    })

    it.scoped("plain content that should be encrypted never reaches the remote unless exactly that is allowed", () =>
      Effect.gen(function* () {
        const { change, origin, workTree } = yield* filtered
        const pushes: Array<string> = []
        origin.gate.asked = (_, url) => void (url.includes("git-receive-pack") && pushes.push(url))
        put(workTree, ".gitattributes", "*.bin filter=lfs -text\n")
        const changeset = yield* change({ "secret/key": "the key itself\n", "kept.bin": "content" })
        assert.lengthOf(changeset.diagnostics, 2)
        const blocked = yield* deliver(changeset, { allow: ["lfs_content", "unfiltered_content"] })
        assert.deepInclude(blocked, { state: "blocked", reason: "unencrypted_content" })
        assert.include(blocked.reason_message, '"git-crypt"')
        assert.include(blocked.reason_message, '"secret/key"')
        assert.isUndefined(origin.headOf(blocked.target_ref))
        const next = yield* deliver(changeset, { allow: ["unencrypted_content"] })
        assert.deepInclude(next, { id: blocked.id, state: "blocked", reason: "lfs_content" })
        assert.isEmpty(pushes)
        const both = yield* deliver(changeset, { allow: ["lfs_content", "unencrypted_content"] })
        assert.deepInclude(both, { id: blocked.id, state: "succeeded" })
        assert.isNotEmpty(pushes)
      })
    )

    variants(() => {
      it.scoped("what is allowed is kept by a retry, and a patch is never blocked", () =>
        Effect.gen(function* () {
          const { change, origin, principal } = yield* filtered
          const changeset = yield* change({ "A.txt": "another\n", "kept.bin": "content" })
          assert.deepInclude(yield* deliver(changeset, { transport: "patch" }), { state: "succeeded", allow: [] })
          origin.gate.closed = true
          const allowed = { allow: ["name_collision", "lfs_content"] as const }
          const blocked = yield* deliver(changeset, allowed)
          assert.deepInclude(blocked, { state: "blocked", reason: "auth_required" })
          origin.gate.closed = false
          const done = yield* Effect.flatMap((yield* Deliveries).retry(principal, blocked.id), ended)
          assert.deepInclude(done, { state: "succeeded", ...allowed })
          const kept = yield* (yield* Deliveries).request(principal, changeset.id, {})
          assert.deepStrictEqual(kept.delivery.allow, allowed.allow)
        })
      )
    })

    it.scoped("a version that only the agent's git has is told, and blocks each try until it is allowed", () =>
      Effect.gen(function* () {
        const { change, workTree } = yield* workspace((yield* remote()).url)
        put(workTree, "docs/new.md", "new\n")
        plainGit(workTree, "add", "docs/new.md")
        plainGit(workTree, "commit", "--quiet", "--message=docs")
        put(workTree, "a.txt", "edited\n")
        plainGit(workTree, "commit", "--quiet", "--all", "--message=edit")
        plainGit(workTree, "update-index", "--skip-worktree", "a.txt")
        fs.rmSync(join(workTree, "a.txt"))
        const changeset = yield* change({ "b.txt": "b\n" })
        assert.deepStrictEqual(
          changeset.files.map(({ path, status }) => `${status} ${path}`),
          ["modified b.txt", "added docs/new.md"]
        )
        assert.match(changeset.diagnostics.join(), /hides 1 file .* "a\.txt"\. A delivery as a branch is blocked/)
        const blocked = yield* deliver(changeset)
        assert.deepInclude(blocked, { state: "blocked", reason: "hidden_content" })
        assert.match(blocked.reason_message ?? "", /"a\.txt"\. Have the agent show all files again/)
        assert.deepInclude(yield* deliver(changeset, { allow: ["hidden_content"] }), { state: "succeeded" })
      })
    )

    it.scoped("an added name that differs from another one by case alone blocks with both names", () =>
      Effect.gen(function* () {
        const { change } = yield* workspace((yield* remote()).url)
        const changeset = yield* change({ "A.TXT": "another\n" })
        assert.match(changeset.diagnostics.join(), /"A\.TXT" beside "a\.txt"/)
        const blocked = yield* deliver(changeset)
        assert.deepInclude(blocked, { state: "blocked", reason: "name_collision" })
        assert.match(blocked.reason_message ?? "", /"A\.TXT" beside "a\.txt"/)
      })
    )
  })
}

it("an unknown obstacle is refused by the request", () => {
  const decode = Schema.decodeUnknownEither(DeliveryInput)
  assert.strictEqual(decode({ allow: ["lfs_content"] })._tag, "Right")
  for (const allow of [["everything"], "lfs_content", [null], ["lfs_content", "all"]])
    assert.strictEqual(decode({ allow })._tag, "Left", JSON.stringify(allow))
})
