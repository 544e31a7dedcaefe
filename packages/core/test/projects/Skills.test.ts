import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Changesets } from "@reins/core/changes/Changesets"
import { Projects } from "@reins/core/projects/Projects"
import { Skills } from "@reins/core/projects/Skills"
import type { SkillInput } from "@reins/core/projects/skills/Skill"
import { Sessions } from "@reins/core/sessions/Sessions"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { guidanceFiles } from "@reins/machine/harness/Guidance"
import { faultsOf } from "@reins/testing/Faults"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, makeRemote, withAgent } from "../execution/Agent.js"

const head = "---\nname: release-notes\ndescription: Writes the notes of a release.\n---\n"
const input: SkillInput = {
  files: [
    { path: "SKILL.md", content: `${head}\nRead CHANGES first.\n` },
    { path: "bin/list.sh", content: "#!/bin/sh\necho list\n", executable: true },
    { path: "logo.png", content: Buffer.from([0x89, 0, 1]).toString("base64"), encoding: "base64" }
  ]
}

const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error): unknown => {
    if (error instanceof ReinsError) return error.code
    return error instanceof RequestInvalid ? faultsOf(error).map(({ loc }) => loc.join(".")) : error
  })

const newProject = (principal: Principal, workspaceId: WorkspaceId) =>
  Effect.flatMap(Projects, (projects) =>
    projects.create(principal, workspaceId, { slug: "thing", name: "Thing", spec: {} })
  )

for (const { layer, name } of databases) {
  describe(`skills of a project on ${name}`, () => {
    it.scopedLive("the same files are one skill, and versions pin them by their digest", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const projects = yield* Projects
        const skills = yield* Skills
        const { id } = yield* newProject(principal, workspaceId)
        const one = yield* skills.add(principal, id, input)
        assert.deepInclude(one, { name: "release-notes", description: "Writes the notes of a release.", files: 3 })
        assert.deepStrictEqual(yield* skills.add(principal, id, { files: [...input.files].reverse() }), one)
        const pin = { name: one.name, digest: one.digest }
        const spec = { instructions: "Be brief.", skills: [pin] }
        const version = yield* projects.publish(principal, id, { spec })
        assert.deepStrictEqual(version.spec, spec)
        const changed = { files: [{ path: "SKILL.md", content: `${head}\nOther words.\n` }] }
        const two = yield* skills.add(principal, id, changed)
        const next = yield* projects.publish(principal, id, {
          spec: { ...spec, skills: [{ name: two.name, digest: two.digest }] }
        })
        assert.notStrictEqual(next.spec_digest, version.spec_digest)
        const { items } = yield* skills.list(principal, id)
        assert.deepStrictEqual(
          new Map(items.map((each) => [each.digest, each])),
          new Map([one, two].map((each) => [each.digest, each]))
        )
        const unknown = { ...pin, digest: `sha256:${"0".repeat(64)}` }
        assert.deepStrictEqual(
          yield* failureOf(projects.publish(principal, id, { spec: { skills: [pin, unknown] } })),
          ["body.spec.skills.1.digest"]
        )
        assert.deepStrictEqual(
          yield* failureOf(
            projects.create(principal, workspaceId, { slug: "other", name: "Other", spec: { skills: [pin] } })
          ),
          ["body.spec.skills.0.digest"]
        )
      }).pipe(Effect.provide(services(layer)))
    )

    restOn(name)(() => {
      it.scopedLive("a skill of a wrong form is refused with the place", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const skills = yield* Skills
          const { id } = yield* newProject(principal, workspaceId)
          const refused = (...files: SkillInput["files"]) => failureOf(skills.add(principal, id, { files }))
          const main = { path: "SKILL.md", content: head }
          assert.deepStrictEqual(yield* refused({ path: "README.md", content: head }), ["body.files"])
          assert.deepStrictEqual(yield* refused({ path: "x", content: "" }, { path: "SKILL.md", content: "Words." }), [
            "body.files.1.content"
          ])
          assert.deepStrictEqual(yield* refused({ ...main, content: "---\nname: ../x\ndescription: x\n---\n" }), [
            "body.files.0.content"
          ])
          assert.deepStrictEqual(yield* refused({ ...main, content: "---\nname: x\n---\ndescription: x\n" }), [
            "body.files.0.content"
          ])
          assert.deepStrictEqual(yield* refused(main, { path: "large", content: "x".repeat(1024 * 1024) }), [
            "body.files"
          ])
          assert.isEmpty((yield* skills.list(principal, id)).items)
        }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive(
        "an agent finds them in its home at each start, whatever was left there, and no changeset has them",
        () =>
          withAgent(
            "alpha_gateway",
            ({ dataDir, directory, eventsUntil, principal, runTurn, workspaceId }) =>
              Effect.gen(function* () {
                const { id } = yield* newProject(principal, workspaceId)
                const skill = yield* (yield* Skills).add(principal, id, input)
                yield* (yield* Projects).publish(principal, id, {
                  spec: {
                    repository: { url: makeRemote(directory).url },
                    instructions: "Be brief.",
                    skills: [{ name: skill.name, digest: skill.digest }]
                  }
                })
                const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: id })
                const { home, workTree } = sessionPaths(dataDir, session.id)
                const place = join(home, ".agents/skills/release-notes")
                const holds = () => {
                  assert.strictEqual(readFileSync(join(home, ".config/opencode/AGENTS.md"), "utf8"), "Be brief.\n")
                  assert.deepStrictEqual(readdirSync(place).sort(), ["SKILL.md", "bin", "logo.png"])
                  assert.strictEqual(statSync(join(place, "bin/list.sh")).mode & 0o777, 0o700)
                  assert.strictEqual(statSync(join(place, "SKILL.md")).mode & 0o777, 0o600)
                  assert.isTrue(readFileSync(join(place, "logo.png")).equals(Buffer.from([0x89, 0, 1])))
                }
                const outside = join(directory, "outside")
                mkdirSync(join(outside, "skills/release-notes"), { recursive: true })
                writeFileSync(join(outside, "skills/release-notes/kept"), "kept")
                mkdirSync(home, { recursive: true })
                symlinkSync(outside, join(home, ".agents"))
                const first = yield* runTurn(
                  session.id,
                  script("Write.", { tool: "write", path: "a.txt", content: "a\n" }, { say: "Done." })
                )
                assert.strictEqual(first.state, "succeeded", JSON.stringify(first))
                holds()
                assert.isTrue(existsSync(join(outside, "skills/release-notes/kept")))
                rmSync(join(place, "SKILL.md"))
                writeFileSync(join(place, "more.md"), "not of the skill")
                const { items } = yield* (yield* Changesets).list(principal, session.id, {})
                assert.deepStrictEqual(
                  items[0]?.files.map(({ path }) => path),
                  ["a.txt"]
                )
                assert.isFalse(existsSync(join(workTree, ".agents")))
                const theirs = join(workTree, ".agents/skills/release-notes")
                mkdirSync(theirs, { recursive: true })
                writeFileSync(join(theirs, "SKILL.md"), "theirs")
                const second = yield* runTurn(session.id, script("Say it.", { say: "Done." }))
                assert.strictEqual(second.state, "succeeded", JSON.stringify(second))
                holds()
                let ends = 0
                const events = yield* eventsUntil(session.id, (event) => isTurnEnd(event) && ++ends === 2)
                const told = events.filter(({ payload }) => payload["kind"] === "skill_name_taken")
                assert.deepStrictEqual(
                  told.map(({ payload, turn_id }) => [turn_id, payload["line"]]),
                  [
                    [
                      second.id,
                      "The repository has skills of the names of the project's in .agents/skills: release-notes. OpenCode may take either."
                    ]
                  ]
                )
              }),
            { agentIdleMs: 0 },
            undefined,
            name === "SQLite" ? undefined : layer
          )
      )
    })
  })
}

describe("the places of instructions and skills", () => {
  const guidance = {
    instructions: "Be brief.",
    skills: [
      {
        name: "notes",
        files: [
          {
            path: "SKILL.md",
            content: Buffer.from("---\nname: notes\n---\nRead it.\n").toString("base64"),
            executable: false
          },
          { path: "run", content: "", executable: true }
        ]
      }
    ]
  }

  it("are a file and a folder of the agent, or the file alone", () => {
    const files = (skills: string | null) =>
      guidanceFiles({ instructions: "AGENTS.md", skills }, guidance).map(({ content, mode, path }) => [
        path,
        content.toString(),
        mode.toString(8)
      ])
    assert.deepStrictEqual(files(".agents/skills"), [
      ["AGENTS.md", "Be brief.\n", "600"],
      [".agents/skills/notes/SKILL.md", "---\nname: notes\n---\nRead it.\n", "600"],
      [".agents/skills/notes/run", "", "700"]
    ])
    assert.deepStrictEqual(files(null), [["AGENTS.md", "Be brief.\n\n# Skill: notes\n\nRead it.\n", "600"]])
  })
})
