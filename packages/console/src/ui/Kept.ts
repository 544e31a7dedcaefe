/** The texts that a browser refuses to keep. They last as long as the page. */
const inMemory = new Map<string, string>()

/** The path of the service. Installations below paths of one host share what its browser keeps. */
const path = new URL("../", document.baseURI).pathname

const keyOf = (name: string): string => (path === "/" ? name : `${path} ${name}`)

/** The text that this browser has kept for this installation under a name. Null when there is none. */
export const readKept = (name: string): string | null => {
  try {
    return localStorage.getItem(keyOf(name)) ?? inMemory.get(name) ?? null
  } catch {
    return inMemory.get(name) ?? null
  }
}

/** Keeps a text in this browser. Where it refuses, or has no room left, the page alone keeps it. */
export const keep = (name: string, text: string): void => {
  inMemory.set(name, text)
  try {
    localStorage.setItem(keyOf(name), text)
  } catch {
    // Reads find it in memory.
  }
}
