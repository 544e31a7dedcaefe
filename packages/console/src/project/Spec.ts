import type { ProjectSpec } from "@reins/client"

/** A spec and a way to change parts of it. A part that becomes undefined leaves the spec. */
export interface SpecProps {
  readonly spec: ProjectSpec
  readonly put: (parts: { readonly [Name in keyof ProjectSpec]?: ProjectSpec[Name] | undefined }) => void
}

/** An object without the fields that are undefined, null, an empty text or an empty list; undefined when nothing is left. */
export const filled = <A extends object>(given: A): A | undefined => {
  const kept = Object.entries(given).filter(
    ([, value]) =>
      value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)
  )
  // Boundary: what is left out is optional in every schema of a spec.
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as A)
}

/** A number of a field; undefined where it is empty. */
export const numberOf = (text: string): number | undefined => (text === "" ? undefined : Number(text))

/** A command as a line for people. One for a shell is that line, any other one its words. */
export const lineOf = (argv: ReadonlyArray<string>): string => {
  const [program, flag, line, ...rest] = argv
  if (program === "sh" && flag === "-c" && line !== undefined && rest.length === 0) return line
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ")
}

/** A line as a command: words without anything of a shell in them, or a shell. */
export const argvOf = (line: string): ReadonlyArray<string> =>
  /^[\w@%+=:,./ -]+$/.test(line) && !/^\w+=/.test(line) ? line.trim().split(/ +/) : ["sh", "-c", line]

/** The spec that a person has written as JSON. */
export const specOf = (text: string): ProjectSpec => {
  let spec: unknown
  try {
    spec = JSON.parse(text)
  } catch (error) {
    throw new Error(`The spec is no JSON: ${error instanceof Error ? error.message : ""}`)
  }
  if (typeof spec !== "object" || spec === null || Array.isArray(spec))
    throw new Error("The spec has to be an object, as in {}.")
  // Boundary: the server checks what a person has written.
  return spec as ProjectSpec
}
