import { shortened } from "@reins/base/base/CutText"
import { scrubber } from "@reins/machine/harness/Secrets"
import { Redacted } from "effect"
import type { ServerAnswer } from "./ForeignAnswer.js"
import type { ListedTool, ToolList } from "./ForeignTools.js"
import { ServerFailed } from "./ServerFailed.js"

/** Blanks the secrets of a server in what it says. A model is never shown them. */
export interface Blank {
  readonly text: (text: string) => string
  readonly list: (list: ToolList) => ToolList
  readonly answer: (answer: ServerAnswer) => ServerAnswer
  readonly failure: (failure: ServerFailed) => ServerFailed
}

const blank = "[secret]"

/** The longest sentence on a failure, in characters. It is cut once its secrets are blanked, because half of a secret is not found. */
const longestSentence = 600

/** The ways in which a program may write a secret without meaning to hide it, besides those that a scrubber knows. */
const encodedOf = (secret: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(secret)
  const basic = [bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")]
  return [...basic, bytes.toString("hex").toUpperCase(), secret.split("").reverse().join("")]
}

/** Blanks secrets of at least 6 characters, as they are and in the spellings that programs give them. */
export const blankSecrets = (secrets: ReadonlyArray<Redacted.Redacted>): Blank => {
  const plain = secrets.map((secret) => Redacted.value(secret))
  const forms = plain.flatMap((secret) => [secret, ...(secret.length < 6 ? [] : encodedOf(secret))])
  const known = scrubber(Object.fromEntries(forms.map((form, index) => [String(index), Redacted.make(form)])))
  const text = known.scrub
  const deep = (value: unknown): unknown => {
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) return value.map(deep)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [text(name), deep(inner)]))
  }
  const isShown = ({ data }: ServerAnswer["images"][number]): boolean => {
    const bytes = Buffer.from(data, "base64")
    return !plain.some((secret) => secret.length >= 6 && (bytes.includes(secret) || data.includes(secret)))
  }
  const told = (tool: ListedTool): ListedTool => ({
    ...tool,
    name: text(tool.name),
    description: text(tool.description),
    // Boundary: an object stays one.
    input_schema: deep(tool.input_schema) as ListedTool["input_schema"]
  })
  return {
    text,
    list: ({ listed, odd, tools }) => ({
      tools: tools.map(told),
      odd: odd.map(({ name, reason }) => ({ name: text(name), reason: text(reason) })),
      listed
    }),
    answer: (answer) => {
      const images = answer.images.filter(isShown)
      const left = answer.images.length - images.length
      const said = text(answer.text)
      return {
        is_error: answer.is_error,
        text: left === 0 ? said : `${said}\n[${left} pictures are left out: ${blank}]`,
        images: images.map(({ data, mime_type }) => ({ data, mime_type: text(mime_type) }))
      }
    },
    failure: (failure) => new ServerFailed({ ...failure, message: shortened(text(failure.message), longestSentence) })
  }
}

/** Blanks what either of two blanks. */
export const blankBoth = (one: Blank, other: Blank): Blank => ({
  text: (text) => other.text(one.text(text)),
  list: (list) => other.list(one.list(list)),
  answer: (answer) => other.answer(one.answer(answer)),
  failure: (failure) => other.failure(one.failure(failure))
})
