/** A process as `ps` lists it. */
export interface Listed {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly alive: boolean
  /** The second of its start, in words. With the pid it tells a process from a later one that got its number. */
  readonly start: string
  /** Its arguments, and its environment where the system shows it. */
  readonly words: ReadonlyArray<string>
}

/** The arguments that have `ps` list every process with its environment, for `familyIn`. */
export const psArguments = (platform: string): ReadonlyArray<string> => [
  platform === "linux" ? "axeww" : "-axwwE",
  "-o",
  "pid=,ppid=,pgid=,stat=,lstart=,command="
]

/** The processes from which a family is found. */
export interface Seeds {
  /** Those that have one of these entries in their environment. */
  readonly entries: ReadonlyArray<string>
  /** Those that were seen before, with their starts. */
  readonly noted?: ReadonlyMap<number, string>
  /** Those of a process group. */
  readonly group?: number
}

/**
 * The processes of a listing that are seeds, with all of their children and all of the groups that they are in; never the process `own`.
 * Undefined when the listing has not even that one, so nothing can be said.
 *
 * The guard runs the text of this function in a process of its own, so it uses nothing from outside of itself.
 */
export const familyIn = (
  listing: string,
  { entries, group: seedGroup, noted }: Seeds,
  own: number
): ReadonlyArray<Listed> | undefined => {
  const all: Array<Listed> = []
  for (const line of listing.split("\n")) {
    const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w+\s+\w+\s+\w+\s+[\d:]+\s+\d+)(?:\s+(.*))?$/.exec(line)
    if (found === null) continue
    const state = found[4] ?? "Z"
    all.push({
      pid: Number(found[1]),
      parent: Number(found[2]),
      group: Number(found[3]),
      alive: state[0] !== "Z" && state[0] !== "X",
      start: found[5] ?? "",
      words: (found[6] ?? "").split(/\s+/)
    })
  }
  const self = all.find(({ pid }) => pid === own)
  if (self === undefined) return undefined
  const isSeed = ({ group, pid, start, words }: Listed) =>
    group === seedGroup || noted?.get(pid) === start || words.some((word) => entries.includes(word))
  const others = all.filter(({ pid }) => pid !== own)
  const pids = new Set(others.filter(isSeed).map(({ pid }) => pid))
  for (let before = 0; pids.size > before; ) {
    before = pids.size
    const groups = new Set(
      others.filter(({ group, pid }) => pids.has(pid) && group !== self.group).map(({ group }) => group)
    )
    for (const { group, parent, pid } of others) if (pids.has(parent) || groups.has(group)) pids.add(pid)
  }
  return others.filter(({ pid }) => pids.has(pid))
}
