/**
 * Control characters but tabs and line ends, characters that turn the direction of a text, and those that nobody sees. Joiners stay, because scripts and
 * emoji need them.
 */
const unseen =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** A text of others in which each character that hides something is written as its escape, such as `\u202e`. Tabs and lines stay. */
export const escapeUnseen = (text: string): string =>
  text.replaceAll(unseen, (character, at: number) => {
    if (character === "\n" || character === "\t") return character
    if (character === "\r" && text[at + 1] === "\n") return ""
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`
  })
