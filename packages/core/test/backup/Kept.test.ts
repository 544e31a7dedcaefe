import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { systemActor } from "@reins/core/access/Access"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { Projects } from "@reins/core/projects/Projects"
import { Skills } from "@reins/core/projects/Skills"
import { skillStore } from "@reins/core/projects/skills/SkillStore"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { backUp, databases, installation, restoreTo, temporary } from "./Installations.js"

/** More than one piece of an artifact, with every byte in it. */
const bytes = Buffer.from(Array.from({ length: 2_500_000 }, (_, at) => (at * 7 + (at >> 8)) % 256))
const head = "---\nname: release-notes\ndescription: Writes the notes of a release.\n---\n"
const runner = systemActor("runner")

/** A session of a project with instructions and a skill, whose agent has published a file that is in its working tree no more. */
const worked = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const projects = yield* Projects
  const project = yield* projects.create(principal, workspaceId, { slug: "shop", name: "Shop", spec: {} })
  const skill = yield* (yield* Skills).add(principal, project.id, {
    files: [
      { path: "SKILL.md", content: head },
      { path: "logo.png", content: Buffer.from([0x89, 0, 1]).toString("base64"), encoding: "base64" },
      { path: "bin/list.sh", content: "#!/bin/sh\n", executable: true }
    ]
  })
  const pin = { name: skill.name, digest: skill.digest }
  yield* projects.publish(principal, project.id, { spec: { instructions: "Be brief.", skills: [pin] } })
  const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
  const sent = yield* (yield* Messages).send(principal, session.id, { content: "Draw it." })
  yield* (yield* WorkingTrees).make(session.id)
  const journal = yield* Journal
  const turns = yield* TurnStore
  const turn = yield* turns.find(sent.turn_id ?? "")
  const row = yield* (yield* SessionStore).find(session.id)
  if (turn === undefined || row === undefined) return yield* Effect.dieMessage("there is no turn")
  for (const to of ["preparing", "running"] as const) yield* journal.commit(turns.move(turn.id, to, runner))
  const file = join((yield* pathsOf(session.id)).workTree, "data.bin")
  writeFileSync(file, bytes)
  const call = yield* (yield* ToolRuns).of(row, turn)
  const input = { path: "data.bin", title: "The data" }
  const answer = yield* call({
    server: "reins",
    tool: "publish_artifact",
    call_id: "call-1",
    input,
    hears_progress: true
  })
  assert.isFalse(answer.is_error, answer.text)
  rmSync(file)
  return { principal, projectId: project.id, sessionId: session.id, pin }
})

/** All that a client can read of the artifacts and the skills, and what agents are given. */
const kept = ({ pin, principal, projectId, sessionId }: Effect.Effect.Success<typeof worked>) =>
  Effect.gen(function* () {
    const artifacts = yield* Artifacts
    const { items } = yield* artifacts.list(principal, sessionId, {})
    const contents = yield* Effect.forEach(items, ({ id }) => artifacts.content(principal, id))
    return {
      artifacts: contents.map(({ artifact, bytes }) => [artifact, bytes.toString("base64")]),
      skills: (yield* (yield* Skills).list(principal, projectId)).items,
      files: yield* (yield* skillStore).filesOf(projectId, pin),
      project: yield* (yield* Projects).get(principal, projectId),
      session: yield* (yield* Sessions).get(principal, sessionId)
    }
  })

for (const { name, place: makePlace } of databases.filter(({ name }) =>
  flowDatabases.some((flow) => flow.name === name)
))
  describe(`a backup on ${name} of what agents keep and are given`, () => {
    it.scopedLive("brings the artifacts of sessions and the skills of projects back, byte by byte", () =>
      Effect.gen(function* () {
        const place = yield* makePlace
        const root = yield* temporary
        const [dataDir, elsewhere, file] = [join(root, "data"), join(root, "elsewhere"), join(root, "backup.tar")]
        const { before, work } = yield* Effect.gen(function* () {
          const work = yield* worked
          const before = yield* kept(work)
          yield* backUp(place, dataDir, file)
          return { before, work }
        }).pipe(Effect.provide(installation(place, dataDir)))
        assert.deepStrictEqual(
          before.artifacts.map(([, content]) => content),
          [bytes.toString("base64")]
        )
        assert.lengthOf(before.files, 3)
        yield* restoreTo(place, file, elsewhere, { keyRing: join(dataDir, "keyring.json") })
        rmSync(dataDir, { recursive: true })
        const after = yield* Effect.provide(kept(work), installation(place, elsewhere))
        assert.deepStrictEqual(after, before)
      })
    )
  })
