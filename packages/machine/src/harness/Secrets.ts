import { Redacted } from "effect"

const blank = "[secret]"
/** The shortest secret that is blanked. A shorter text would also blank ordinary words. */
const minimumLength = 6

/** Blanks the secrets of a connection in the output of an agent, and tells addresses inside the service as those that people know. */
export interface Scrubber {
  readonly scrub: (text: string) => string
  /** The length of the end of `text` that may be the beginning of a secret. */
  readonly partialLength: (text: string) => number
}

type Secrets = Readonly<Record<string, Redacted.Redacted<string>>>

const byLength = (left: string, right: string): number => right.length - left.length

/** The forms in which a text may stand in the output of an agent: as it is, in JSON and in URLs. */
const formsOfText = (text: string): ReadonlyArray<string> => [
  text,
  JSON.stringify(text).slice(1, -1),
  encodeURIComponent(text)
]

/** The secrets among variables, by names that no secret of a connection has. */
export const redactedOf = (variables: Readonly<Record<string, string | Redacted.Redacted>> = {}): Secrets =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      Redacted.isRedacted(value) ? [[`variable ${name}`, value]] : []
    )
  )

/** A secret of several lines is blanked line by line too, because output is told by lines. */
const plainOf = (secrets: Secrets): ReadonlyArray<string> =>
  Object.values(secrets)
    .map(Redacted.value)
    .flatMap((secret) => (secret.includes("\n") ? [secret, ...secret.split(/\r?\n/)] : [secret]))
    .filter((secret) => secret.length >= minimumLength)

/** The forms in which secrets are blanked. Longer ones come first, because a secret may contain another one. */
export const formsOf = (secrets: Secrets): ReadonlyArray<string> =>
  [...new Set(plainOf(secrets).flatMap(formsOfText))].sort(byLength)

export const scrubber = (
  secrets: Secrets,
  /** Texts that are told as others. */
  told: Readonly<Record<string, string>> = {}
): Scrubber => {
  const replacements = new Map(
    [...Object.entries(told), ...plainOf(secrets).map((secret) => [secret, blank] as const)].flatMap(
      ([text, instead]) => formsOfText(text).map((form) => [form, instead] as const)
    )
  )
  const forms = [...replacements.keys()].sort(byLength)
  return {
    scrub: (text) =>
      forms.reduce((scrubbed, form) => scrubbed.replaceAll(form, () => replacements.get(form) ?? blank), text),
    partialLength: (text) => {
      const longest = Math.min(text.length, (forms[0]?.length ?? 1) - 1)
      for (let length = longest; length > 0; length--) {
        const end = text.slice(-length)
        if (forms.some((form) => form.length > length && form.startsWith(end))) return length
      }
      return 0
    }
  }
}
