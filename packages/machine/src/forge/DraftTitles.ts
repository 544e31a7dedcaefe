/** A title that the forge takes for that of a draft. */
export const draftTitle = (prefix: string, title: string): string => `${prefix} ${title}`

/** A title without the words of a draft at its beginning, however often they stand there. */
export const readyTitle = (words: ReadonlyArray<string>, title: string): string => {
  const start = title.trimStart()
  const word = words.find((each) => start.toLowerCase().startsWith(each.toLowerCase()))
  return word === undefined ? start : readyTitle(words, start.slice(word.length))
}
