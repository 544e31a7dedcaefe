import { hash } from "node:crypto"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { cutText } from "@reins/base/base/CutText"
import { fn } from "@reins/base/base/Traced"
import type { Guidance } from "@reins/base/domain/Guidance"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { ProjectSpec } from "./Project.js"
import { ProjectStore } from "./ProjectStore.js"
import { maxSkillBytes, type Skill, type SkillInput, SkillName, type SkillPin } from "./skills/Skill.js"
import { skillHead } from "./skills/SkillHead.js"
import { skillStore } from "./skills/SkillStore.js"

/** The most skills of a project, counting each version of their files. */
const maxSkills = 1000

/** The skills and the instructions of projects. Versions of a project pin them. */
export class Skills extends Context.Tag("@reins/core/projects/Skills")<
  Skills,
  {
    /** The skills of a project by name, with all versions of their files. */
    readonly list: (
      principal: Principal,
      projectId: string
    ) => Effect.Effect<{ readonly items: ReadonlyArray<Skill> }, Unseen>
    /**
     * Keeps a skill. The same files again give back the skill that has them. Fails with `RequestInvalid` for files without a `SKILL.md` that says its
     * name and description, and for more than 1 MiB. Fails with `quota_exhausted` when the project has 1,000.
     */
    readonly add: (
      principal: Principal,
      projectId: string,
      input: SkillInput
    ) => Command<Skill, Denied | RequestInvalid | ReinsError<"quota_exhausted">>
    /** The instructions and skills of a spec, with the contents of the skills. */
    readonly guidanceOf: (
      projectId: string,
      spec: { readonly instructions: string | null; readonly skills: ReadonlyArray<SkillPin> }
    ) => Effect.Effect<Guidance>
  }
>() {
  static readonly layer = Layer.effect(
    Skills,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const projects = yield* ProjectStore
      const store = yield* skillStore

      return Skills.of({
        list: fn("Skills.list")(function* (principal, projectId) {
          const project = yield* projects.find(projectId)
          yield* access.read(principal, project.workspace_id)
          return { items: yield* store.list(project.id) }
        }),
        add: (principal, projectId, input) =>
          journal.command(
            "Skills.add",
            { by: principal, about: { type: "project", id: projectId } },
            Effect.gen(function* () {
              const project = yield* projects.lock(projectId)
              yield* access.write(principal, project.workspace_id)
              const { content, ...read } = yield* readSkill(input)
              const known = yield* store.find(project.id, read)
              if (known !== undefined) return known
              if ((yield* store.count(project.id)) >= maxSkills) return yield* tooMany
              const skill: Skill = { ...read, created_at: yield* now }
              yield* store.insert(project.id, skill, content)
              return skill
            })
          ),
        guidanceOf: fn("Skills.guidanceOf")(function* (projectId, { instructions, skills }) {
          const found = yield* Effect.forEach(skills, (pin) =>
            Effect.map(store.filesOf(projectId, pin), (files) => ({ name: pin.name, files }))
          )
          return { instructions, skills: found }
        })
      })
    })
  )
}

/** Fails, at its place in the request, for a skill of a spec that the project does not have. A project that is being made has none. */
export const requireSkills = Effect.map(
  skillStore,
  (store) =>
    (projectId: string, { skills = [] }: ProjectSpec) =>
      Effect.forEach(
        skills,
        (pin, index) =>
          Effect.flatMap(store.find(projectId, pin), (found) =>
            found === undefined
              ? refused(
                  ["spec", "skills", String(index), "digest"],
                  pin.digest,
                  "the project has no skill of this name with these files: upload it first"
                )
              : Effect.void
          ),
        { discard: true }
      )
)

/** A skill as it is kept, with its files in the order of their paths. */
const readSkill = Effect.fnUntraced(function* (input: SkillInput) {
  const files = input.files
    .map(({ content, encoding = "utf-8", executable = false, path }) => ({
      path,
      content: Buffer.from(content, encoding).toString("base64"),
      executable
    }))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content, "base64"), 0)
  if (bytes > maxSkillBytes)
    return yield* refused(["files"], null, `the files have ${bytes} bytes, and ${maxSkillBytes} are allowed`)
  const main = files.find(({ path }) => path === "SKILL.md")
  if (main === undefined) return yield* refused(["files"], null, "there is no SKILL.md at the root")
  const at = ["files", String(input.files.findIndex(({ path }) => path === "SKILL.md")), "content"]
  const { description, name } = skillHead(Buffer.from(main.content, "base64").toString())
  if (!Schema.is(SkillName)(name))
    return yield* refused(
      at,
      null,
      "SKILL.md begins with no lines between --- that give a name of lower-case letters, digits and hyphens"
    )
  if (description === undefined) return yield* refused(at, null, "SKILL.md gives no description on one line")
  const digest = `sha256:${hash("sha256", canonicalJson({ name, files }), "hex")}`
  return { name, description: cutText(description, 1024), digest, bytes, files: files.length, content: files }
})

const refused = (place: ReadonlyArray<string>, input: unknown, problem: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", ...place],
    issue: new ParseResult.Type(Schema.Unknown.ast, input, problem),
    input
  })

const tooMany = new ReinsError({
  code: "quota_exhausted",
  message: `A project keeps at most ${maxSkills} skills, counting each version of their files. Make another project.`,
  details: { quota: "skills", used: maxSkills, limit: maxSkills }
})
