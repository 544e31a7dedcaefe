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

/** The forms in which a text may stand in the output of an agent. */
const formsOf = (text: string): ReadonlyArray<string> => [
  text,
  JSON.stringify(text).slice(1, -1),
  encodeURIComponent(text)
]

export const scrubber = (
  secrets: Readonly<Record<string, Redacted.Redacted<string>>>,
  /** Texts that are told as others. */
  told: Readonly<Record<string, string>> = {}
): Scrubber => {
  const plain = Object.values(secrets)
    .map(Redacted.value)
    .filter((secret) => secret.length >= minimumLength)
  const replacements = new Map(
    [...Object.entries(told), ...plain.map((secret) => [secret, blank] as const)].flatMap(([text, instead]) =>
      formsOf(text).map((form) => [form, instead] as const)
    )
  )
  // Longer forms come first, because a secret may contain another one.
  const forms = [...replacements.keys()].sort((left, right) => right.length - left.length)
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
