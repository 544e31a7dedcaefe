/** The text that is indexed of a message or title, in UTF-16 units. The rest of a longer one is not found. */
const maxIndexed = 100_000

/** The longest word in code points. What follows is cut off, in texts and in searches alike. */
const maxWord = 64

/** The size of all words of a text. */
const maxBytes = 400_000

/** The size of all words with those that have their workspace. PostgreSQL takes no more than a megabyte of them. */
const maxStoredBytes = 1_000_000

/** The characters of a workspace before its words. */
const scopeSize = 10

/** A word that a search looks for. */
export interface Term {
  readonly word: string
  /** True where longer words that begin with it are found too. */
  readonly isPrefix: boolean
}

/**
 * The different words of a text, as the index has them: without case, accents and punctuation. Scripts that write no spaces are indexed by each
 * character and each pair, because nothing says where their words end.
 */
export const searchWords = (text: string): ReadonlyArray<string> => {
  const words = new Set<string>()
  let bytes = 0
  let stored = 0
  for (const run of runsOf(text.slice(0, maxIndexed)))
    for (const word of run.isUnspaced ? [...run.characters, ...pairsOf(run.characters)] : [run.characters.join("")]) {
      if (words.has(word)) continue
      const size = Buffer.byteLength(word)
      bytes += size + 1
      stored += 2 * size + scopeSize + 4
      if (bytes > maxBytes || stored > maxStoredBytes) return [...words]
      words.add(word)
    }
  return [...words]
}

/**
 * The beginning of the words of a workspace. It holds the end of the id, which is random. No word of a text begins so, because words have no punctuation, and
 * the index takes it for a part of the word, because it is not ASCII.
 */
export const scopeOf = (workspaceId: string): string =>
  `·${workspaceId
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .slice(-scopeSize)}`

/** The words that a search asks for, the last of which may be the beginning of a longer one. Empty for a text without a word. */
export const termsOf = (text: string): ReadonlyArray<Term> => {
  const runs = runsOf(text)
  const last = runs.length - 1
  const terms = runs.flatMap(({ characters, isUnspaced }, index): ReadonlyArray<Term> => {
    if (!isUnspaced) return [{ word: characters.join(""), isPrefix: index === last }]
    const parts = characters.length === 1 ? characters : pairsOf(characters)
    return parts.map((word) => ({ word, isPrefix: false }))
  })
  return [...new Map(terms.map((term) => [`${term.word} ${term.isPrefix}`, term])).values()]
}

interface Run {
  readonly characters: ReadonlyArray<string>
  readonly isUnspaced: boolean
}

const unspaced =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー"
const runs = new RegExp(`[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{N}\\p{M}])+`, "gu")
const isUnspacedRun = new RegExp(`^[${unspaced}]`, "u")

const runsOf = (text: string): ReadonlyArray<Run> =>
  (folded(text).match(runs) ?? []).map((run) => {
    const isUnspaced = isUnspacedRun.test(run)
    return { isUnspaced, characters: isUnspaced || run.length > maxWord ? charactersOf(run, isUnspaced) : [run] }
  })

const charactersOf = (run: string, isUnspaced: boolean): ReadonlyArray<string> =>
  isUnspaced ? [...run] : [...run].slice(0, maxWord)

const pairsOf = (characters: ReadonlyArray<string>): ReadonlyArray<string> =>
  characters.slice(1).map((character, index) => `${characters[index]}${character}`)

/** Two spellings of a word that people take for one have one form. Accents go, and the Greek sigma at the end of a word is like any other. */
const folded = (text: string): string =>
  isPlain.test(text)
    ? text.toLowerCase()
    : text
        .toLowerCase()
        .normalize("NFKD")
        // One character may stand for eighteen.
        .slice(0, maxIndexed)
        .replace(/[\u0300-\u036f]/g, "")
        .normalize("NFKC")
        .toLowerCase()
        .replaceAll("ς", "σ")

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is that of ASCII.
const isPlain = /^[\x00-\x7f]*$/
