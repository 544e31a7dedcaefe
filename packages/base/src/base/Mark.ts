/** A mark that identifies the processes of a lease, or of a boot of the service. */
export interface Mark {
  readonly kind: "lease" | "boot"
  readonly id: string
}

const variables = { lease: "REINS_LEASE", boot: "REINS_BOOT" } as const

/** The mark as an entry of an environment, which every process inherits unless it clears it. */
export const markEntry = ({ id, kind }: Mark): string => `${variables[kind]}=${id}`

/** The boot whose mark an environment bears. */
export const bootIn = (environment: Readonly<Record<string, string>>): string | undefined => environment[variables.boot]

export const markVariables = (marks: ReadonlyArray<Mark>): Record<string, string> =>
  Object.fromEntries(marks.map(({ id, kind }) => [variables[kind], id]))
