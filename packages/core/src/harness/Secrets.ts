import { Redacted } from "effect"

const blank = "[secret]"
/** The shortest secret that is blanked. A shorter text would also blank ordinary words. */
const minimumLength = 6

/** Blanks the secrets of a connection in the output of an agent. */
export interface Scrubber {
  readonly scrub: (text: string) => string
  /** The length of the end of `text` that may be the beginning of a secret. */
  readonly partialLength: (text: string) => number
}

type Secrets = Readonly<Record<string, Redacted.Redacted<string>>>

/** The forms in which secrets are blanked: as they are, in JSON and in URLs. Longer ones come first, because a secret may contain another one. */
export const formsOf = (secrets: Secrets): ReadonlyArray<string> => {
  const plain = Object.values(secrets)
    .map(Redacted.value)
    .filter((secret) => secret.length >= minimumLength)
  const forms = plain.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(forms)].sort((left, right) => right.length - left.length)
}

export const scrubber = (secrets: Secrets): Scrubber => {
  const forms = formsOf(secrets)
  return {
    scrub: (text) => forms.reduce((scrubbed, form) => scrubbed.replaceAll(form, blank), text),
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
