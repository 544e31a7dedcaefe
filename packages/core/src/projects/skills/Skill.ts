import { optional } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

/** The most files of a skill, and the most bytes of all of them. */
export const maxSkillFiles = 200
export const maxSkillBytes = 1024 * 1024

export const SkillName = Schema.String.pipe(Schema.pattern(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/)).annotations({
  description: "Lower-case letters, digits and hyphens, at most 64 characters, with neither end a hyphen."
})

const Digest = Schema.String.pipe(Schema.pattern(/^sha256:[0-9a-f]{64}$/))

export const SkillPin = Schema.Struct({
  name: field(SkillName, "The name of the skill."),
  digest: field(Digest, "The digest of its files, as the answer to its upload gives it.")
}).annotations({ identifier: "SkillPin", description: "A skill of the project in one version of its files." })
export type SkillPin = typeof SkillPin.Type

/** The skills of a spec. */
export const SkillPins = Schema.Array(SkillPin).pipe(
  Schema.maxItems(20),
  Schema.filter((skills) => new Set(skills.map(({ name }) => name)).size === skills.length, {
    message: () => "Input should name each skill once"
  })
)

/** The instructions of a spec. */
export const ProjectInstructions = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(65_536))

const SkillPath = Schema.String.pipe(
  Schema.maxLength(200),
  Schema.pattern(/^(?!\/)(?!.*(?:^|\/)(?:\.{0,2})(?:\/|$))[^\0\\]+$/, {
    message: () =>
      "Input should be a path below the folder of the skill, without . and .. and without a slash at an end"
  })
)

export const SkillFileInput = Schema.Struct({
  path: field(SkillPath, "The path below the folder of the skill, at most 200 characters."),
  content: field(Schema.String, "The content, in the form that `encoding` says."),
  encoding: field(optional(Schema.Literal("utf-8", "base64")), "The form of `content`; `utf-8` when absent."),
  executable: field(optional(Schema.Boolean), "True for a file that the agent may run; false when absent.")
}).annotations({ identifier: "SkillFileInput", description: "A file of a skill." })
export type SkillFileInput = typeof SkillFileInput.Type

/** True where a path is given twice, or is a file in one place and a folder in another. */
const isInTheWay = (paths: ReadonlyArray<string>): boolean => {
  const files = new Set(paths)
  return files.size < paths.length || paths.some((path) => foldersOf(path).some((folder) => files.has(folder)))
}

const foldersOf = (path: string): ReadonlyArray<string> =>
  path.split("/").map((_, index, names) => names.slice(0, index).join("/"))

export const SkillInput = Schema.Struct({
  files: field(
    Schema.Array(SkillFileInput).pipe(
      Schema.minItems(1),
      Schema.maxItems(maxSkillFiles),
      Schema.filter((files) => !isInTheWay(files.map(({ path }) => path)), {
        message: () => "Input should name each file once, and no folder as a file"
      })
    ),
    "The files, at most 200 and 1 MiB. `SKILL.md` is one of them, and begins with the `name` and the `description` of the skill."
  )
}).annotations({ identifier: "SkillInput", description: "A skill to keep: a folder with `SKILL.md` at its root." })
export type SkillInput = typeof SkillInput.Type

export const Skill = Schema.Struct({
  name: field(SkillName, "Its name, as `SKILL.md` says."),
  description: field(Schema.String, "What it is for, as `SKILL.md` says."),
  digest: field(Digest, "The digest of its files. A version of the project names it."),
  bytes: field(Schema.Int, "The size of all files."),
  files: field(Schema.Int, "The number of files."),
  created_at: field(Timestamp, "The time at which it was uploaded.")
}).annotations({
  identifier: "Skill",
  description: "A skill of a project, whose files never change. Agents have it when a version of the project names it."
})
export type Skill = typeof Skill.Type

export const SkillList = Schema.Struct({
  items: field(Schema.Array(Skill), "The skills by name, the newest of a name first, at most 1,000.")
}).annotations({ identifier: "SkillList", description: "The skills that a project has." })
