import { assert, describe, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Projects } from "@reins/core/projects/Projects"
import { Skills } from "@reins/core/projects/Skills"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, withAgent } from "../test/execution/Agent.js"

const instructionsMark = "mark of the instructions"
const skillMark = "mark of the skill"

const description = "Says how notes of a release are written."

const kinds = { alpha: "alpha_gateway", beta: "beta" } as const

/** Reads the skill at its place. */
const reads = { tool: "bash", cmd: "cat ~/.agents/skills/release-notes/SKILL.md" }

for (const executor of ["local", "bubblewrap"] as const)
  for (const provider of ["alpha", "beta"] as const)
    describe(`instructions and skills in ${executor}`, () => {
      it.scopedLive(
        `the model of ${provider} is told of both and reads the skill, and no changeset has them`,
        () =>
          withAgent(
            kinds[provider],
            ({ directory, gateway, principal, runTurn, workspaceId }) =>
              Effect.gen(function* () {
                const projects = yield* Projects
                const { id } = yield* projects.create(principal, workspaceId, { slug: "thing", name: "Thing" })
                const skill = yield* (yield* Skills).add(principal, id, {
                  files: [
                    {
                      path: "SKILL.md",
                      content: `---\nname: release-notes\ndescription: ${description}\n---\n${skillMark}\n`
                    }
                  ]
                })
                yield* projects.publish(principal, id, {
                  spec: {
                    repository: { url: makeRemote(directory).url },
                    harness: { provider_id: provider },
                    instructions: instructionsMark,
                    skills: [{ name: skill.name, digest: skill.digest }]
                  }
                })
                const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: id })
                const turn = yield* runTurn(session.id, script("Write the notes.", reads, { say: "Done." }))
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
                const asked = gateway.requests.filter(({ tools }) => tools.length > 0).at(-1)
                const told = JSON.stringify(asked?.messages)
                assert.include(told, instructionsMark)
                assert.include(
                  JSON.stringify(gateway.requests.find(({ tools }) => tools.length > 0)?.messages),
                  description
                )
                assert.include(told, skillMark)
                const { items } = yield* (yield* Changesets).list(principal, session.id, {})
                assert.deepStrictEqual(
                  items.flatMap(({ files }) => files.map(({ path }) => path)),
                  []
                )
              }),
            { executors: [executor] },
            Manifests.layer
          ),
        180_000
      )
    })
