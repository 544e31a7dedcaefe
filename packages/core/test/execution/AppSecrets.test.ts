import { assert, it } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { remote } from "@reins/testing/changes/Fixture"
import { appKeys, ForgeApp } from "@reins/testing/forge/ForgeApp"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { withAgent } from "./Agent.js"

it.scopedLive("an agent in a clone that an app made finds neither its key nor its tokens", () =>
  withAgent("alpha_gateway", ({ connectionId, principal, runTurn, workspaceId }) =>
    Effect.gen(function* () {
      const origin = yield* remote("github")
      const app = new ForgeApp("acme/shop")
      origin.forge.app = app
      const connection = yield* (yield* Connections).create(principal, workspaceId, {
        kind: "github_app",
        label: "app",
        credential: { base_url: origin.base, client_id: app.clientId, private_key: appKeys().pkcs1 }
      })
      const spec = { repository: { url: origin.url }, connection_ids: [connectionId, connection.id] }
      const project = yield* (yield* Projects).create(principal, workspaceId, { slug: "app", name: "App", spec })
      const { id } = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
      const cmd =
        'cat a.txt > seen.txt; env >> seen.txt; cat .git/config >> seen.txt; find . "$HOME" -type f -exec cat {} + >> seen.txt 2>&1; ps axeww >> seen.txt 2>&1; true'
      const turn = yield* runTurn(id, script("Look.", { tool: "bash", cmd }, { say: "Done." }))
      assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
      const read = yield* (yield* SessionFiles).read(principal, id, "seen.txt")
      const content = Buffer.from(read.content, read.encoding === "base64" ? "base64" : "utf8").toString("latin1")
      assert.include(content, "one")
      assert.isAbove(app.minted.length, 0)
      for (const secret of [...app.minted.map(({ token }) => token), "ghs_", appKeys().pkcs1.split("\n")[3] ?? ""])
        assert.isFalse(content.includes(secret), "an agent has found a secret")
    })
  )
)
