import { readFileSync } from "node:fs"
import { Schema } from "effect"
import type { KnownForge } from "./ForgeDialects.js"

// Owns what the forge of the tests has from the real ones. Each answer and each hook is a recording with the parts that a test is about in their place.

type Fields = Readonly<Record<string, unknown>>

const AnswerFile = Schema.parseJson(
  Schema.Struct({
    operations: Schema.Record({
      key: Schema.String,
      value: Schema.Record({ key: Schema.String, value: Schema.Struct({ answer: Schema.optional(Schema.Unknown) }) })
    })
  })
)

const HookFile = Schema.parseJson(
  Schema.Struct({
    bodies: Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ event: Schema.String, body: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
    })
  })
)

const read = (forge: KnownForge, name: string): string =>
  readFileSync(new URL(`../../recordings/${forge}/${name}.json`, import.meta.url), "utf8")

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

/** Puts parts into the place of those of a recording. A part that is undefined is left out; a list takes the place of a list. */
export const filled = (recording: unknown, parts: unknown): unknown => {
  if (!isFields(recording) || !isFields(parts)) return parts
  const changed = Object.entries(parts).map(([name, part]) => [name, filled(recording[name], part)] as const)
  return { ...recording, ...Object.fromEntries(changed) }
}

const answersOf = (forge: KnownForge): ReadonlyMap<string, unknown> => {
  const { operations } = Schema.decodeUnknownSync(AnswerFile)(read(forge, "answers"))
  return new Map(
    Object.entries(operations).flatMap(([operation, answers]) =>
      Object.entries(answers).flatMap(([status, { answer }]) =>
        status.startsWith("2") && answer !== undefined ? [[operation, answer] as const] : []
      )
    )
  )
}

const once = <A>(make: (forge: KnownForge) => A): ((forge: KnownForge) => A) => {
  const made = new Map<KnownForge, A>()
  return (forge) => {
    const known = made.get(forge)
    if (known !== undefined) return known
    const one = make(forge)
    made.set(forge, one)
    return one
  }
}

const answers = once(answersOf)

const hooks = once((forge) => Schema.decodeUnknownSync(HookFile)(read(forge, "hooks")).bodies)

/** The recorded answers of one forge. Operations are named as its documentation does, such as `GET /user`. */
export const recordings = (forge: KnownForge) => {
  const found = (operation: string): unknown => {
    const answer = answers(forge).get(operation)
    if (answer === undefined) throw new Error(`no answer of ${forge} to ${operation} is recorded`)
    return answer
  }
  return {
    /** The answer to an operation. */
    answer: (operation: string, parts: Fields = {}): unknown => filled(found(operation), parts),
    /** The answer to an operation, as an object with some fields as a whole in the place of its own. */
    replaced: (operation: string, fields: Fields, parts: Fields = {}): Fields => ({
      ...fieldsOf(filled(found(operation), parts)),
      ...fields
    }),
    /** An element of the list that answers an operation. `listOf` names the list in an answer that is none. */
    item: (operation: string, parts: Fields, listOf?: string): unknown => {
      const answer = found(operation)
      const list = listOf === undefined ? answer : isFields(answer) ? answer[listOf] : undefined
      if (!Array.isArray(list) || list.length === 0) throw new Error(`${operation} of ${forge} has no list`)
      return filled(list[0], parts)
    }
  }
}

/** The names of the recorded calls of hooks of one forge. */
export const hookNames = (forge: KnownForge): ReadonlyArray<string> => Object.keys(hooks(forge))

/** A recorded call of a hook with the name of its event. */
export const recordedHook = (
  forge: KnownForge,
  name: string,
  parts: Fields
): { readonly event: string; readonly body: Fields } => {
  const recording = hooks(forge)[name]
  if (recording === undefined) throw new Error(`no hook ${name} of ${forge} is recorded`)
  return { event: recording.event, body: fieldsOf(filled(recording.body, parts)) }
}
