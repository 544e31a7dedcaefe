import { Schema } from "effect"

/** A file of a skill. Its path is relative to the folder of the skill. */
export const SkillFile = Schema.Struct({
  path: Schema.String,
  /** In base64. */
  content: Schema.String,
  executable: Schema.Boolean
})
export type SkillFile = typeof SkillFile.Type

/** The instructions and the skills of a project version, as its agents find them in their homes. */
export const Guidance = Schema.Struct({
  instructions: Schema.NullOr(Schema.String),
  skills: Schema.Array(Schema.Struct({ name: Schema.String, files: Schema.Array(SkillFile) }))
})
export type Guidance = typeof Guidance.Type
