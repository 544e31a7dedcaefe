import { hash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Changesets } from "@reins/core/changes/Changesets"
import { Exports } from "@reins/core/exports/Exports"
import { Projects } from "@reins/core/projects/Projects"
import { Skills } from "@reins/core/projects/Skills"
import { Sessions } from "@reins/core/sessions/Sessions"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { guidedAgents } from "@reins/testing/harness/SmallAgent"
import { flowDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { skilledChangesets } from "@reins/testing/Volume"
import { Chunk, Effect, Stream } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, withAgent } from "../execution/Agent.js"

const mark = "mark of the skill: read CHANGES first"
const folders = join(import.meta.dirname, "../../../../manifests")

interface Guided {
  readonly provider_id: string
  readonly guidance?: { readonly instructions: string; readonly skills: string | null }
}

/** The manifests of all agents that find instructions in their homes. */
const guided = [folders, join(folders, "optional")].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name): ReadonlyArray<Required<Guided>> => {
      const { guidance, provider_id }: Guided = JSON.parse(readFileSync(join(folder, name), "utf8"))
      return guidance === undefined ? [] : [{ guidance, provider_id }]
    })
)

/** A session of a project with a skill. */
const newSession = Effect.fnUntraced(function* (principal: Principal, workspaceId: WorkspaceId, url: string) {
  const projects = yield* Projects
  const { id } = yield* projects.create(principal, workspaceId, { slug: "thing", name: "Thing" })
  const skill = yield* (yield* Skills).add(principal, id, {
    files: [
      { path: "SKILL.md", content: `---\nname: notes\ndescription: Writes notes.\n---\n${mark}\n` },
      { path: "bin/list.sh", content: "#!/bin/sh\necho list\n", executable: true },
      { path: "logo.png", content: Buffer.from([0x89, 0, 1]).toString("base64"), encoding: "base64" }
    ]
  })
  const skills = [{ name: skill.name, digest: skill.digest }]
  yield* projects.publish(principal, id, { spec: { repository: { url }, skills } })
  return { skill, session: yield* (yield* Sessions).create(principal, workspaceId, { project_id: id }) }
})

/** The digest of a skill as it lies in a folder. */
const digestIn = (folder: string, name: string): string => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({
      path: relative(folder, path),
      content: readFileSync(path).toString("base64"),
      executable: (statSync(path).mode & 0o100) !== 0
    }))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
  return `sha256:${hash("sha256", canonicalJson({ name, files }), "hex")}`
}

describe("a skill in the homes of agents", () => {
  it("is looked for by nine of them", () => {
    assert.deepStrictEqual(guided.map(({ provider_id }) => provider_id).sort(), [
      "alpha",
      "beta",
      "claude",
      "codex-zed",
      "copilot",
      "gemini",
      "goose",
      "opencode",
      "qwen"
    ])
  })

  /** One agent for each place: two folders of skills, and the instructions. */
  const first = guided.filter(
    ({ guidance }, index) => guided.findIndex((other) => other.guidance.skills === guidance.skills) === index
  )

  const reachesHome = ({ guidance, provider_id }: Required<Guided>) =>
    it.scopedLive(
      `has the digest that the version pins in the home of ${provider_id}, or is a part of its instructions`,
      () =>
        withAgent(
          "alpha_gateway",
          ({ dataDir, directory, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const { session, skill } = yield* newSession(principal, workspaceId, makeRemote(directory).url)
              const turn = yield* runTurn(session.id, script("Say it.", { say: "Done." }))
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              const { home } = sessionPaths(dataDir, session.id)
              if (guidance.skills === null)
                return assert.include(readFileSync(join(home, guidance.instructions), "utf8"), mark)
              assert.strictEqual(digestIn(join(home, guidance.skills, skill.name), skill.name), skill.digest)
              assert.isFalse(existsSync(join(home, guidance.instructions)))
            }),
          {},
          guidedAgents(guidance)
        )
    )

  for (const each of guided.filter((agent) => first.includes(agent))) reachesHome(each)
  variants(() => {
    for (const each of guided.filter((agent) => !first.includes(agent))) reachesHome(each)
  })

  for (const { layer, name } of flowDatabases)
    it.scopedLive(
      `is in no diff of ${skilledChangesets} changesets and in no export, on ${name}`,
      () =>
        withAgent(
          "alpha_gateway",
          ({ directory, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const { session } = yield* newSession(principal, workspaceId, makeRemote(directory).url)
              const changesets = yield* Changesets
              for (let at = 1; at <= skilledChangesets; at++) {
                const write = { tool: "write", path: `${at}.txt`, content: `${at}\n` }
                const turn = yield* runTurn(session.id, script("Write.", write, { say: "Done." }))
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              }
              const { items } = yield* changesets.list(principal, session.id, { limit: 200 })
              assert.lengthOf(items, skilledChangesets)
              for (const { files, id } of items) {
                assert.isTrue(
                  files.every(({ path }) => /^\d+\.txt$/.test(path)),
                  JSON.stringify(files)
                )
                const { diff } = yield* changesets.diff(principal, id, {})
                assert.notInclude(diff, mark)
                assert.notInclude(diff, "SKILL.md")
              }
              for (const format of ["json", "markdown"] as const) {
                const texts = yield* (yield* Exports).write(principal, session.id, format)
                const text = Chunk.join(yield* Stream.runCollect(texts), "")
                assert.include(text, "Done.")
                assert.notInclude(text, mark)
              }
            }),
          {},
          guidedAgents({ instructions: ".config/opencode/AGENTS.md", skills: ".agents/skills" }),
          layer
        ),
      skilledChangesets * 10_000 + 60_000
    )
})
