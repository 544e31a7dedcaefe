/** The edits that make one word of the other: letters added, left out, changed, or swapped with the next. */
const edits = (one: string, other: string): number => {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const at = (up: number, left: number) => rows[i - up]?.[j - left] ?? 0
      const isSame = one[i - 1] === other[j - 1]
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      row[j] = Math.min(
        at(1, 0) + 1,
        (row[j - 1] ?? 0) + 1,
        at(1, 1) + (isSame ? 0 : 1),
        isSwapped ? at(2, 2) + 1 : Number.POSITIVE_INFINITY
      )
    }
    rows.push(row)
  }
  return rows[one.length]?.[other.length] ?? 0
}

/** The word that was meant, when one of them is close enough; undefined otherwise. The first of equals is taken. */
export const nearest = (given: string, words: ReadonlyArray<string>): string | undefined => {
  const wanted = given.toLowerCase()
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const word of words) {
    const known = word.toLowerCase()
    const isBeginning = wanted.length >= 3 && known.startsWith(wanted)
    const distance = isBeginning ? 1 : edits(wanted, known)
    const isClose = distance <= 3 && distance / Math.max(wanted.length, known.length) < 0.5
    if ((isClose || isBeginning) && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { word, distance }
  }
  return best?.word
}

/** " Did you mean x?" for what `nearest` finds, and nothing otherwise. */
export const didYouMean = (given: string, words: ReadonlyArray<string>, form = (word: string) => word): string => {
  const word = nearest(given, words)
  return word === undefined ? "" : ` Did you mean ${form(word)}?`
}
