import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Messages } from "@reins/core/sessions/Messages"
import { textOf } from "@reins/core/sessions/rows/Message"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Manifests } from "@reins/machine/harness/Manifests"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { seenBy, withAgent } from "../test/execution/Agent.js"

/** The smallest image. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

it.scopedLive(
  "an agent is given the files of a message, its model is shown the images, and it is told of one that has changed or gone since it was uploaded",
  () =>
    withAgent(
      "alpha_gateway",
      ({ gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const files = yield* SessionFiles
          const put = (path: string, content: string) => files.upload(principal, session.id, { path, content })
          const kept = yield* put("docs/the plan.md", "Plant a pear tree.")
          const changed = yield* put("changed.txt", "The first version.")
          const gone = yield* put("gone.txt", "Nobody reads this.")
          const shown = yield* files.upload(principal, session.id, {
            path: "pixel.png",
            content: pixel,
            encoding: "base64"
          })
          const root = (yield* pathsOf(session.id)).workTree
          yield* Effect.promise(() => writeFile(join(root, "changed.txt"), "The second version."))
          yield* Effect.promise(() => rm(join(root, "gone.txt")))

          const turn = yield* runTurn(session.id, script("Read them.", { say: "I have." }), [
            kept.upload_id,
            changed.upload_id,
            gone.upload_id,
            shown.upload_id
          ])
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          const asked = gateway.requests.filter((request) => request.tools.length > 0).at(-1)
          const images = asked?.messages.flatMap((message) => message.images ?? [])
          assert.deepStrictEqual(images, [`data:image/png;base64,${pixel}`])
          const told = asked?.messages.map(({ text }) => text).join("\n") ?? ""
          assert.include(told, join(seenBy(session.id, root), "docs/the plan.md"))
          assert.include(told, "Plant a pear tree.")
          assert.include(told, "The second version.")
          assert.include(told, `changed.txt (uploaded with 18 bytes, ${changed.file.digest}) has been changed since`)
          assert.include(told, `gone.txt (uploaded with 18 bytes, ${gone.file.digest}) is no longer in the workspace`)
          assert.notInclude(told, "Nobody reads this.")

          const said = (yield* (yield* Messages).list(principal, session.id, {})).items
          assert.strictEqual(textOf(said.at(-1)?.content ?? []).trim(), "I have.")
        }),
      {},
      Manifests.layer
    ),
  300_000
)

it.scopedLive(
  "an agent that does not read files by itself is told where they are",
  () =>
    withAgent(
      "beta",
      ({ gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const session = yield* (yield* Sessions).create(principal, workspaceId, { harness: { provider_id: "beta" } })
          const { upload_id } = yield* (yield* SessionFiles).upload(principal, session.id, {
            path: "plan.md",
            content: "Plant a pear tree."
          })
          const turn = yield* runTurn(session.id, script("Read it.", { say: "I have." }), [upload_id])
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          const told = gateway.requests.flatMap(({ messages }) => messages.map(({ text }) => text)).join("\n")
          const root = (yield* pathsOf(session.id)).workTree
          assert.include(told, join(seenBy(session.id, root), "plan.md"))
        }),
      {},
      Manifests.layer
    ),
  300_000
)
